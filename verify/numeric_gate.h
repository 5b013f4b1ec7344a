#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/program.h"
#include "ir/tensor.h"
#include "verify/evidence.h"

namespace axrun::verify {

/// The candidate: reads operands (those of the expression that are not none, in order), writes results (its
/// outputs, in order). The memory is the gate's: operands are read-only, and everything ends or begins at a
/// page that may not be touched.
struct GateCall {
  std::map<std::string, int64_t> sizes;
  std::vector<const void*> operands;
  std::vector<void*> results;
};
using GateCandidate = std::function<void(const GateCall&)>;

struct GateOptions {
  uint64_t seed = 1;
  /// Values of the expression's symbolic sizes to try; one empty map where it has none. verify/gate_sizes.h
  /// proposes some.
  std::vector<std::map<std::string, int64_t>> sizes = {{}};
  /// The first so many sizes are tested in every respect; of the others verify/gate_trials.h says how.
  size_t thorough = SIZE_MAX;
  /// Elements of each output at which the bound is evaluated in the first trial, of exact probes; all where
  /// there are fewer. A quarter of them in the other ordinary trials, an eighth where values are special.
  /// Fewer are where they would take more than `work`, but see GateTrial::least_samples.
  int64_t samples = 4096;
  bool exact = false;  ///< bit-equality with `twin` is required instead of the bound
  GateCandidate twin;
  /// The same kernel with stand-ins for everything that rounds (verify/stand_ins.h), and its expression: with
  /// integer operands it must be bit-equal.
  struct Pair {
    ir::Program expression;
    GateCandidate candidate;
  };
  std::optional<Pair> exact_pair;
  /// Scalar operations of the bound, per output, in the first trial; shared out like `samples`.
  int64_t work = 4000000;
  /// Of sizes at which operands and results take more memory, a few trials: verify/gate_trials.h.
  int64_t large_bytes = int64_t{4} << 20;
  /// Only the trial with this number, to replay a refutation; -1: all.
  int only_trial = -1;
};

/// What a gate has done, accepted or not.
struct GateReport {
  int64_t calls = 0;           ///< of the candidate
  int64_t elements = 0;        ///< compared with their bound, or with the twin's
  int64_t exact_elements = 0;  ///< of these, elements whose bound was a single number
  int64_t unconstrained = 0;   ///< of these, elements where anything was right (an overflow on the way)
  double worst_ratio = 0;      ///< of an error to its bound
  uint64_t inputs_hash = 0;    ///< of all operands, in order
  double candidate_seconds = 0;
  double bound_seconds = 0;
};

/// Tests machine code against the expression it is to compute: exact probes, the running-error bound,
/// special values, guard pages. See DESIGN.md, "What verified means here". A candidate that faults takes the
/// process with it: the caller runs the gate in a process of its own.
///
/// Tested: the text names seed, sizes, inputs, worst ratio and processor. Refuted: it names the element and
/// how to replay. Unknown: the expression cannot be bounded (scatters, opaque stages, strings).
Evidence test_numerically(const ir::Program& expression, const GateCandidate& candidate,
                          const GateOptions& options, GateReport* report = nullptr);

}  // namespace axrun::verify
