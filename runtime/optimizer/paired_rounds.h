#pragma once

#include <functional>

#include "runtime/optimizer/stop_signal.h"
#include "runtime/parallel.h"

namespace axrun::runtime {

/// How two ways of doing the same compare: time of the first over time of the second.
struct Ratio {
  double median = 0;  ///< 0: stopped before the first round
  int rounds = 0;
  int second_won = 0;  ///< rounds in which the second was faster
  int first_won = 0;
  double first_seconds = 0, second_seconds = 0;  ///< of one call: the least mean of a batch
  /// The second is faster by that share, and so many rounds say that it is the faster one that fewer than one
  /// pair of equals in two hundred would show it.
  bool second_is_faster(double share) const;
  bool second_is_slower(double share) const;
  /// Enough rounds, whose middle shows the second slower by less than that share.
  bool second_is_about_as_fast(double share) const;
};

struct RoundOptions {
  int fewest = 9;
  int most = 22;
  double share = 0.02;          ///< what a difference must exceed; rounds end early once that is clear
  double batch_seconds = 3e-4;  ///< calls are repeated until one timing takes so long
  double most_seconds = 3;      ///< after the fewest rounds
  /// Calls that take so long are hardly disturbed: each of the two pairs of first and second that a round has
  /// counts as a round, and they end as soon as the second is clearly the slower one.
  double long_seconds = 0.02;
  /// Rounds that are enough where the fewest would take longer than `most_seconds`; 0: none are.
  int fewest_if_long = 0;
  /// Ends as soon as one round does not say that the second is the slower one.
  bool ends_at_doubt = false;
  /// Both have been called before: where calls are long, the first ones count.
  bool warm = false;
  /// The processor time of the calling thread is what counts, not the time that passes while others have the
  /// processor: for what that thread does alone.
  bool own_time = false;
  /// Of what the calls took since it was asked last, the seconds that do not count; null: all do.
  std::function<double()> spared;
  /// By which every ratio is multiplied: what is known beyond what is measured.
  double factor = 1;
};

/// What it takes the threads of a pool to do something, as a share of what one takes: the least of a few
/// calls of `run(pool)`. 1 for one thread.
double share_of_time(const std::function<void(ThreadPool& pool)>& run, int threads, const StopSignal& stop);
/// The factor for rounds that one thread runs, where as many threads as that will: how much more of its time
/// the first needs than the second. 1 where both need about as much.
double threads_factor(const std::function<void(ThreadPool& pool)>& first,
                      const std::function<void(ThreadPool& pool)>& second, int threads,
                      const StopSignal& stop);

/// Measures in rounds of first, second, second, first, or the other way round, so that what drifts hits both
/// alike.
Ratio paired_rounds(const std::function<void()>& first, const std::function<void()>& second,
                    const StopSignal& stop, const RoundOptions& options = {});

}  // namespace axrun::runtime
