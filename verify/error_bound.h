#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ir/program.h"
#include "ir/tensor.h"
#include "verify/interval.h"

namespace axrun::verify {

/// The running-error bound of a tensor expression at given operands: for every element of its outputs, which
/// results are right when every operation rounds to its type and every reduction is added up in any order,
/// with fused multiply-adds or without. Evaluated in f64 over the expression as it is written.
///
/// Only what the asked-for elements depend on is computed, and each element of a stage once: a sample of a
/// large output is cheap.
///
///   exactness   a sum of integers whose magnitudes add up to at most 2^24 has one value in f32, in any
///   order;
///               where every intermediate is exact the interval is one number
///   overflow    a sum may become infinite where its positive or its negative terms alone do
///   decisions   comparisons, selections, rounding to integers: both sides where the interval straddles
///   tuples      folded in order, and the radius of their real components doubled for other orders
///   scans       all steps are followed, from the first one on, as soon as an element of a result is asked
///   for
class ErrorBound {
 public:
  /// operands[k] belongs to Program::operands[k] (undefined where that is none); their elements and the
  /// program must outlive this. Throws NoBound for sizes that are missing and for stages that cannot be
  /// bounded: scatters, opaque ones, scans within scans. Those that no output needs do not matter.
  ErrorBound(const ir::Program& program, const std::map<std::string, int64_t>& sizes,
             const std::vector<ir::Tensor>& operands);
  ErrorBound(ir::Program&&, const std::map<std::string, int64_t>&, const std::vector<ir::Tensor>&) = delete;
  ~ErrorBound();

  /// Scans are followed for one in `share` of their steps, the first ones, and for at least four; no further
  /// where that takes more than `most_work` (0: whatever it takes). What later steps give may be anything, as
  /// far as this is concerned: for tests that are one of many. Before `at`.
  void follow_share_of_steps(int share, int64_t most_work = 0);

  const ir::Shape& output_shape(size_t output) const;
  /// At these row-major positions of an output. Throws NoBound where data leads out of bounds or divides an
  /// integer by zero.
  std::vector<Interval> at(size_t output, std::span<const int64_t> positions);

  /// Scalar operations evaluated so far: what the time is proportional to.
  int64_t work() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Whether the sign of a zero in an output is decided by the operands: it is not where something is added,
/// or the larger or smaller of two zeros is chosen, on the way to it.
bool sign_of_zero_is_certain(const ir::Program& program, size_t output);

}  // namespace axrun::verify
