#pragma once

#include <cstdint>
#include <vector>

#include "verify/gate_inputs.h"
#include "verify/guarded_memory.h"

namespace axrun::verify {

/// What the gate does with the operands of one call.
struct GateTrial {
  int number = 0;  ///< for messages, for the seed, and to replay it
  Distribution distribution = Distribution::small_integers;
  int share = 1;  ///< one in so many of the samples, of the work, and of the steps of scans
  int times = 1;  ///< so often these samples and this work
  bool exact_pair = false;
  int thinned = 1;  ///< of these samples and this work one in so many, but no fewer steps of scans

  /// Elements that are compared however long the sums are that they take. An error in how terms are reached
  /// shows in nearly every element of a long sum; where elements are wrong by their position, the exact
  /// probes look at most of them, and each of the other trials at some of its own.
  int64_t least_samples() const { return int64_t{times} * (share == 1 ? 64 : 16); }
  /// What is left of so many samples, or so much work.
  int64_t part_of(int64_t all) const { return all * times / share / thinned; }
  /// The first of the corners: half of the least samples are corners, other ones in the next trial.
  int64_t first_corner() const { return int64_t{number} * 8; }
  /// Of the first operand; the others and the results follow in turn.
  Placement placement() const { return static_cast<Placement>((number + number / 3) % 3); }
};

inline constexpr int gate_trial_count = 16;
/// Trials with stand-ins are numbered after the others.
inline constexpr int exact_pair_trials = 3;

/// The trials at each of several sizes, those of the exact pair last.
///
/// bytes[s] is what operands and results take at size s. At up to `large` bytes, and at the smallest size
/// whatever it takes, every trial is done. A size that takes more is there for what shows at large extents
/// only (offsets, strides, ends of long loops): it has the exact probes with all their samples, wide
/// exponents, special values of all kinds, and the first trial of the exact pair, and in these every
/// placement next to guard pages. What it leaves out is made up for at the smallest size: there every trial
/// that is left out elsewhere compares as many elements more.
///
/// From size number `thorough` on, sizes have the trials of large ones, with few samples: they are there for
/// what shows in nearly every element, or is not written, and nothing is made up for them.
std::vector<std::vector<GateTrial>> plan_gate_trials(const std::vector<int64_t>& bytes, int64_t large,
                                                     size_t thorough = SIZE_MAX);

}  // namespace axrun::verify
