#pragma once

#include <functional>
#include <string>

#include "runtime/optimizer/kernel_library.h"
#include "runtime/optimizer/worker_process.h"
#include "search/lowering.h"

namespace axrun::runtime {

using LowerFunction =
    std::function<search::Lowered(const ir::Program& expression, const search::Sizes& sizes,
                                  const std::vector<bool>& constant, const jit::Target& target)>;

/// What a candidate goes through, and with what.
struct CandidateTools {
  LowerFunction lower = search::lower;
  jit::Target target;
  uint64_t seed = 1;
  double proof_seconds = 120;      ///< of the clock: proofs end by the solver's own limits long before
  double processor_seconds = 180;  ///< of one candidate
  double answer_seconds = 30;      ///< without a sign of life, after which an idle worker counts as hanging
};

/// How it ended.
struct CandidateOutcome {
  enum class End {
    verified,       ///< `code` may run in this process
    refused,        ///< `reason` says which stage has refused it
    worker_trouble  ///< the worker cannot be started: nothing is known of the candidate
  };
  End end = End::refused;
  std::string reason;
  GeneratedCode code;
};

/// Lowers the expression, has the worker prove, compile and test it, and compiles it here: the very code
/// that the worker tested, byte by byte. `record` gets what becomes known. Answers `refused` with the
/// reason "stopped" when told to stop.
CandidateOutcome try_candidate(const StepExpression& expression, const SizeValues& sizes,
                               const search::Sizes& ranges, const CandidateTools& tools,
                               WorkerProcess& worker, const StopSignal& stop, OptimizedKernel& record);

/// Sizes at which a kernel for these ranges is tested: the ones at hand first, then small and odd ones that
/// leave tails of every kind; none at which the expression takes much more memory than at hand.
std::vector<SizeValues> sizes_to_test(const ir::Program& expression, const search::Sizes& ranges,
                                      const SizeValues& at_hand);

}  // namespace axrun::runtime
