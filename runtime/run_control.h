#pragma once

#include <time.h>

#include <atomic>
#include <chrono>
#include <cstdint>

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

/// A function of the host's that runs of one thread ask ten times a second whether they go on. Interpreters
/// handle an interrupt only when they are asked.
class RunPoll {
 public:
  using Function = int (*)(void* context);
  constexpr RunPoll() = default;

  void set(Function function, void* context) {
    function_ = function;
    context_ = context;
  }
  bool is_set() const { return function_ != nullptr; }
  /// A run begins: the first question comes a tenth of a second later.
  void begin() { next_ms_ = now_ms() + interval_ms; }
  /// Asks where it is time. A run that the function itself makes does not ask.
  bool wants_end() {
    if (now_ms() < next_ms_ || asking_) return false;
    asking_ = true;
    const bool end = function_(context_) != 0;
    asking_ = false;
    begin();
    return end;
  }

 private:
  static constexpr int64_t interval_ms = 100;
  /// As of the last tick: a few nanoseconds, where the exact time takes five times as long.
  static int64_t now_ms() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
  }
  Function function_ = nullptr;
  void* context_ = nullptr;
  int64_t next_ms_ = 0;
  bool asking_ = false;
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

  /// What runs ask besides, all of them in its thread; null: nobody.
  void set_poll(RunPoll* poll) { poll_ = poll; }

  /// Throws RunEnded where there is a reason.
  void check() const {
    if (cancelled_.load(std::memory_order_relaxed)) throw RunEnded(RunEnded::Why::cancelled);
    if (deadline_ != Clock::time_point::max() && Clock::now() >= deadline_)
      throw RunEnded(RunEnded::Why::deadline);
    if (poll_ != nullptr && poll_->wants_end()) throw RunEnded(RunEnded::Why::cancelled);
  }

 private:
  std::atomic<bool> cancelled_{false};
  Clock::time_point deadline_ = Clock::time_point::max();
  RunPoll* poll_ = nullptr;
};

}  // namespace axrun::runtime
