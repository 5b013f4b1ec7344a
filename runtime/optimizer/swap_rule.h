#pragma once

#include <algorithm>

namespace axrun::runtime {

/// Where kernels wait for a plan: whether it is worth its time now. It brings what they spare, for as long as
/// the next candidate takes; what the others will spare comes later by what it takes.
class SwapRule {
 public:
  explicit SwapRule(double run_seconds) : swap_seconds_(runs_of_swap * run_seconds) {}
  /// share: of the model's time, as everywhere here; spared: of it.
  void tried(double share, double spared) {
    ++tried_;
    tried_share_ += share;
    all_spared_ += spared;
    spared_ += spared;
  }
  void swapped(double seconds) {
    swap_seconds_ = seconds;
    swaps_seconds_ += seconds;
    spared_ = 0;
  }
  double spared() const { return spared_; }
  bool says_now(double seconds_since_start) const {
    const double candidate_seconds = (seconds_since_start - swaps_seconds_) / std::max(tried_, 1);
    const double still_to_come = all_spared_ / std::max(tried_share_, 1e-9) * std::max(0.0, 1 - tried_share_);
    return spared_ * candidate_seconds >= swap_seconds_ * still_to_come;
  }

 private:
  /// A plan takes about as long as so many runs of the one before, until it is known.
  static constexpr double runs_of_swap = 4;
  double swap_seconds_, swaps_seconds_ = 0;
  double tried_share_ = 0, all_spared_ = 0, spared_ = 0;
  int tried_ = 0;
};

}  // namespace axrun::runtime
