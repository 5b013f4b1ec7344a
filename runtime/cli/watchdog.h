#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

namespace axrun::cli {

/// Ends the process when it lives longer than `seconds`; a run cannot be interrupted otherwise. Before there
/// is an answer that is a failure: exit code 124, and an error as JSON where that is asked for.
class Watchdog {
 public:
  Watchdog(const std::optional<double>& seconds, bool json);
  ~Watchdog() { stop(); }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// The answer is known, what follows only adds to it: from now on the process ends with its exit code,
  /// after `last_words`, which are called by another thread while this one goes on.
  void answered(int exit_code, std::function<void()> last_words);
  /// Before anything is written that must be written whole. Does not return where time is up already.
  void stop();
  /// When time is up; the end of all time where nobody has said.
  std::chrono::steady_clock::time_point deadline() const { return deadline_; }

 private:
  void bark(double limit);

  const bool json_;
  std::chrono::steady_clock::time_point deadline_ = std::chrono::steady_clock::time_point::max();
  std::mutex mutex_;  ///< held while the process ends
  std::condition_variable wake_;
  bool finished_ = false;
  std::optional<int> exit_code_;  ///< of the answer
  std::function<void()> last_words_;
  std::thread thread_;
};

}  // namespace axrun::cli
