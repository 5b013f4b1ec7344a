#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <thread>

namespace axrun::runtime {

/// Work on a thread of its own, once, while whoever asked for it goes on. Forks of the process wait for its
/// end, so that the child finds it done and its locks open; for that, whatever the work takes locks of has to
/// handle forks already when this is made (handlers of fork run in the opposite order).
class Aside {
 public:
  /// work: must not throw, fork, or wait for this object. Done at once where the system gives no thread.
  explicit Aside(std::function<void()> work);
  /// Waits.
  ~Aside();
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;

  /// Until it is done; then what it wrote can be read. By any thread, any number of times: nearly always a
  /// load and a branch.
  void wait() {
    if (!done_.load(std::memory_order_acquire)) join();
  }

 private:
  friend struct AsideForks;
  void join();

  std::mutex mutex_;
  std::thread thread_;
  std::atomic<bool> done_{false};
};

}  // namespace axrun::runtime
