#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace axrun::runtime {

/// A figure that the system takes long to tell and that rarely changes: asked for anew when what is known is
/// older than `age`. Threads may ask at once; there is no lock that a forked child could find held.
template <class T>
class Recent {
 public:
  using Clock = std::chrono::steady_clock;

  explicit constexpr Recent(Clock::duration age) : age_(age) {}

  template <class Ask>
  T get(Ask ask) {
    const int64_t now = Clock::now().time_since_epoch().count();
    const int64_t asked = asked_.load(std::memory_order_acquire);
    if (asked != never && now - asked < age_.count()) return value_.load(std::memory_order_relaxed);
    const T value = ask();
    value_.store(value, std::memory_order_relaxed);
    asked_.store(now, std::memory_order_release);  // after the value: a fresh time has no older value
    return value;
  }

 private:
  static constexpr int64_t never = INT64_MIN;
  Clock::duration age_;
  std::atomic<int64_t> asked_{never};
  std::atomic<T> value_{};
};

}  // namespace axrun::runtime
