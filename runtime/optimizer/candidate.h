#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/optimizer/kernel_library.h"
#include "runtime/optimizer/worker_lowering.h"
#include "runtime/optimizer/worker_process.h"
#include "search/lowering.h"

namespace axrun::runtime {

/// What a candidate goes through, and with what.
struct CandidateTools {
  /// In tests: what lowers here, in place of the worker. Empty: nothing is lowered in this process.
  LowerFunction lower;
  jit::Target target;
  uint64_t seed = 1;
  double proof_seconds = 120;      ///< of the clock: proofs end by the solver's own limits long before
  double processor_seconds = 180;  ///< of one candidate
  std::string reproducers;         ///< folder for what goes wrong; empty: it is not kept
  double answer_seconds = 30;      ///< without a sign of life, after which an idle worker counts as hanging
};

/// What the worker is asked about an expression: to lower it, and whether that is right. What is given of
/// `lowering` is not looked for anew. tested: at which sizes its code was.
WorkerRequest request_for(const StepExpression& expression, const WorkerLowering& lowering,
                          const search::Sizes& ranges, const SizeValues& sizes, const CandidateTools& tools,
                          const verify::TestedSizes& tested = {});

/// So often is asked again where the worker was ended from outside.
inline constexpr int most_kills = 3;

/// How it ended.
struct CandidateOutcome {
  enum class End {
    verified,        ///< `code` may run in this process
    refused,         ///< `reason` says which stage has refused it
    worker_trouble,  ///< the worker cannot be started: nothing is known of the candidate
    worker_killed    ///< it was ended from outside: nothing is known either
  };
  End end = End::refused;
  TriedKernel::End lost = TriedKernel::End::not_tried;  ///< where it was refused: by what
  std::string reason;
  GeneratedCode code;
};

/// One expression on its way to machine code: lowered, proved, compiled and tested by the worker, then
/// compiled here: the very code that the worker tested, byte by byte.
class Candidate {
 public:
  /// Expression, tools, worker and signal must outlive it. rank: of the schedule. known: code that serves
  /// some sizes already, and is to be tested at these as well: its program is proved once more, and must give
  /// the same code.
  Candidate(const StepExpression& expression, SizeValues sizes, search::Sizes ranges,
            const CandidateTools& tools, WorkerProcess& worker, const StopSignal& stop, size_t rank = 0,
            std::optional<GeneratedCode> known = {});
  Candidate(const Candidate&) = delete;
  Candidate& operator=(const Candidate&) = delete;

  /// Gives it to the worker, which is at work from then on: nobody else may ask it before the end of
  /// finish().
  void begin();
  /// Waits for the worker. Answers `refused` with the reason "stopped" when told to stop.
  CandidateOutcome finish();
  /// What has become known.
  const OptimizedKernel& record() const { return record_; }
  /// Of the worker's processor time, what it took.
  double worker_processor_seconds() const { return reply_.processor_seconds; }
  /// The code did something wrong when it was tested: it may be wrong at other sizes, too.
  bool is_wrong() const { return wrong_; }
  /// The same as a trial that ended so.
  TriedKernel trial(const CandidateOutcome& outcome) const;

 private:
  void guarded(const char* stage, void (Candidate::*run)());
  void lower();
  void ask();
  void note_lowering();
  bool is_answered(const WorkerAnswer& answer);
  void judge();
  void keep_reproducer();
  void compile();

  const StepExpression& expression_;
  SizeValues sizes_;
  search::Sizes ranges_;
  const CandidateTools& tools_;
  WorkerProcess& worker_;
  const StopSignal& stop_;
  size_t rank_;
  std::optional<GeneratedCode> known_;
  OptimizedKernel record_;
  WorkerLowering lowering_;
  WorkerRequest request_;
  bool asked_ = false;
  bool wrong_ = false;
  WorkerReply reply_;
  CandidateOutcome outcome_;
};

}  // namespace axrun::runtime
