#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace axrun::serve {

/// Lets so many at a time do something, and so many wait for it.
class Turns {
 public:
  using Clock = std::chrono::steady_clock;
  Turns(int at_a_time, int waiting) : free_(at_a_time), room_(at_a_time + waiting) {}

  enum class Entry { granted, full, late };
  /// Waits for its turn until the deadline. Where it is granted, leave() must follow.
  Entry enter(Clock::time_point deadline) {
    std::unique_lock lock(mutex_);
    if (room_ == 0) return Entry::full;
    --room_;
    const auto is_free = [this] { return free_ > 0; };
    if (deadline == Clock::time_point::max()) {
      changed_.wait(lock, is_free);
    } else if (!changed_.wait_until(lock, deadline, is_free)) {
      ++room_;
      return Entry::late;
    }
    --free_;
    return Entry::granted;
  }
  void leave() {
    {
      const std::lock_guard lock(mutex_);
      ++free_;
      ++room_;
    }
    changed_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int free_, room_;
};

}  // namespace axrun::serve
