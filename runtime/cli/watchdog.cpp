#include "runtime/cli/watchdog.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

#include "runtime/cli/options.h"
#include "runtime/cli/record.h"

namespace axrun::cli {

Watchdog::Watchdog(const std::optional<double>& seconds, bool json) : json_(json) {
  if (!seconds) return;
  constexpr double longest = 1e9;
  const double limit = std::min(*seconds, longest);
  deadline_ =
      std::chrono::steady_clock::now() +
      std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(limit));
  thread_ = std::thread([this, limit] {
    std::unique_lock lock(mutex_);
    if (!wake_.wait_until(lock, deadline_, [this] { return finished_; })) bark(limit);
  });
}

void Watchdog::bark(double limit) {
  if (exit_code_) {
    last_words_();
  } else {
    const std::string message = fmt::format("not finished after {:g} s", limit);
    std::fprintf(stderr, "axrun: error: %s\n", message.c_str());
    if (json_) std::fputs(json_error("deadline", message, {}, exit_timeout).c_str(), stdout);
  }
  std::fflush(stdout);
  // Not exit: other threads are running, and nothing is left to be saved.
  _exit(exit_code_.value_or(exit_timeout));
}

void Watchdog::answered(int exit_code, std::function<void()> last_words) {
  const std::lock_guard lock(mutex_);
  exit_code_ = exit_code;
  last_words_ = std::move(last_words);
}

void Watchdog::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    finished_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

}  // namespace axrun::cli
