#pragma once

#include <atomic>
#include <chrono>

namespace axrun::runtime {

/// Says "stop" to whoever works, looks, sleeps or waits for a descriptor.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  /// Does nothing in a process that was forked from the one which made the signal: the descriptor is shared
  /// with it.
  void request();
  bool requested() const { return requested_.load(std::memory_order_acquire); }
  /// Readable once stop is requested; to be polled, never read. -1 where the system gave none.
  int descriptor() const { return descriptor_; }
  /// Sleeps; true as soon as stop is requested.
  bool wait_for(std::chrono::nanoseconds time) const;

 private:
  std::atomic<bool> requested_{false};
  int descriptor_;
  int process_;
};

}  // namespace axrun::runtime
