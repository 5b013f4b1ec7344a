#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>

#include "runtime/optimizer_status.h"

namespace axrun::runtime {

/// What the optimiser says of itself; written by its thread, read by any.
class StatusBoard {
 public:
  using State = OptimizerStatus::State;

  void set_state(State state, const std::string& reason = "");
  void update(const std::function<void(OptimizerStatus&)>& change);
  void add_swap(PlanSwap swap);
  OptimizerStatus snapshot() const;

  /// Runs `swap` unless frozen; a freeze waits for one under way. False where it is frozen or nothing was
  /// swapped.
  bool swap_unless_frozen(const std::function<bool()>& swap);
  void freeze();
  bool frozen() const;
  std::mutex& mutex() { return mutex_; }

 private:
  void set_state_locked(State state, const std::string& reason);

  mutable std::mutex mutex_;
  OptimizerStatus status_;
  bool frozen_ = false;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace axrun::runtime
