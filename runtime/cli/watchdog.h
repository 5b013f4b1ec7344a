#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

namespace axrun::cli {

/// Ends the process with exit code 124 when it lives longer than `seconds`; a run cannot be interrupted
/// otherwise.
class Watchdog {
 public:
  explicit Watchdog(const std::optional<double>& seconds);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  bool finished_ = false;
  std::thread thread_;
};

}  // namespace axrun::cli
