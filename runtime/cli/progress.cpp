#include "runtime/cli/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>

namespace axrun::cli {
namespace {
constexpr auto first_after = std::chrono::seconds(1);
constexpr auto interval = std::chrono::milliseconds(250);

/// 0: not known.
size_t terminal_columns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}
}  // namespace

std::string fitting(const std::string& text, size_t columns) {
  // The last column stays free: a cursor beyond it begins a line.
  if (columns == 0 || text.size() < columns) return text;
  const size_t bar = text.rfind(" | ", columns - 1);
  return text.substr(0, bar != std::string::npos ? bar : columns - 1);
}

Progress::Progress(bool wanted)
    : active_(wanted && isatty(STDERR_FILENO) == 1), next_(std::chrono::steady_clock::now() + first_after) {}

void Progress::show(const std::string& text) {
  if (!active_) return;
  // Carriage return, the text, and "erase to the end of the line".
  std::fprintf(stderr, "\r%s\x1b[K", fitting(text, terminal_columns()).c_str());
  std::fflush(stderr);
  shown_ = true;
  next_ = std::chrono::steady_clock::now() + interval;
}

void Progress::clear() {
  if (!shown_.exchange(false)) return;
  std::fprintf(stderr, "\r\x1b[K");
  std::fflush(stderr);
}

}  // namespace axrun::cli
