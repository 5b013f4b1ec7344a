#include "runtime/cli/watchdog.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "runtime/cli/options.h"

namespace axrun::cli {

Watchdog::Watchdog(const std::optional<double>& seconds) {
  if (!seconds) return;
  constexpr double longest = 1e9;
  thread_ = std::thread([this, limit = std::min(*seconds, longest)] {
    std::unique_lock lock(mutex_);
    if (wake_.wait_for(lock, std::chrono::duration<double>(limit), [this] { return finished_; })) return;
    std::fprintf(stderr, "axrun: error: not finished after %g s\n", limit);
    // Not exit: other threads are running, and nothing is left to be saved.
    _exit(exit_timeout);
  });
}

Watchdog::~Watchdog() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    finished_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

}  // namespace axrun::cli
