#pragma once

#include <atomic>
#include <chrono>

namespace axrun::runtime {

class Bell;

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
  /// Sleeps; true as soon as stop is requested. A bell (null: none) ends the sleep as well.
  bool wait_for(std::chrono::nanoseconds time, Bell* bell = nullptr) const;

 private:
  std::atomic<bool> requested_{false};
  int descriptor_;
  int process_;
};

/// Ends the sleep of whoever waits for it, now or the next time. After a fork both processes share it: a ring
/// may be heard by the wrong one, so nobody sleeps for ever.
class Bell {
 public:
  Bell();
  ~Bell();
  Bell(const Bell&) = delete;
  Bell& operator=(const Bell&) = delete;
  void ring();

 private:
  friend class StopSignal;
  int descriptor_;
};

}  // namespace axrun::runtime
