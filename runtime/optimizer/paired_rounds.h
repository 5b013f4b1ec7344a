#pragma once

#include <functional>

#include "runtime/optimizer/stop_signal.h"

namespace axrun::runtime {

/// How two ways of doing the same compare: time of the first over time of the second.
struct Ratio {
  double median = 0;  ///< 0: stopped before the first round
  double low = 0;     ///< quartiles of the rounds
  double high = 0;
  int rounds = 0;
  /// The second is faster by that share, and the rounds agree on it being faster.
  bool second_is_faster(double share) const { return median >= 1 + share && low > 1; }
  bool second_is_slower(double share) const { return rounds > 0 && median <= 1 - share && high < 1; }
};

struct RoundOptions {
  int fewest = 5;
  int most = 15;
  double share = 0.02;          ///< what a difference must exceed; rounds end early once that is clear
  double batch_seconds = 3e-4;  ///< calls are repeated until one timing takes so long
  double most_seconds = 3;      ///< after the fewest rounds
};

/// Measures in rounds of first, second, second, first, so that what drifts hits both alike.
Ratio paired_rounds(const std::function<void()>& first, const std::function<void()>& second,
                    const StopSignal& stop, const RoundOptions& options = {});

}  // namespace axrun::runtime
