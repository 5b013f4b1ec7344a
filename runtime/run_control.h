#pragma once

#include <atomic>
#include <chrono>

#include "ir/api.h"
#include "ir/error.h"

namespace axrun::runtime {

/// Thrown out of a run that was told to end early. Outputs that were bound hold nothing of use then; the
/// session serves on.
class AXRUN_API RunEnded : public Error {
 public:
  enum class Why { cancelled, deadline };
  explicit RunEnded(Why why)
      : Error(Fault::user, why == Why::cancelled ? "the run was cancelled" : "the run's deadline has passed"),
        why_(why) {}
  Why why() const { return why_; }

 private:
  Why why_;
};

/// Ends runs early: given to a run, asked before each of its steps, those of bodies included. A step that has
/// begun goes on to its end. May be used by any number of runs, at the same time or one after another, and
/// must outlive them.
class RunControl {
 public:
  using Clock = std::chrono::steady_clock;

  /// Ends the runs under way and later ones, until reset. Safe from any thread and from signal handlers.
  void cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  void reset() { cancelled_.store(false, std::memory_order_relaxed); }
  /// Runs end that are not done by then. Not while a run uses it.
  void set_deadline(Clock::time_point deadline) { deadline_ = deadline; }
  void clear_deadline() { deadline_ = Clock::time_point::max(); }

  /// Throws RunEnded where there is a reason.
  void check() const {
    if (cancelled_.load(std::memory_order_relaxed)) throw RunEnded(RunEnded::Why::cancelled);
    if (deadline_ != Clock::time_point::max() && Clock::now() >= deadline_)
      throw RunEnded(RunEnded::Why::deadline);
  }

 private:
  std::atomic<bool> cancelled_{false};
  Clock::time_point deadline_ = Clock::time_point::max();
};

}  // namespace axrun::runtime
