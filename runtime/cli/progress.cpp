#include "runtime/cli/progress.h"

#include <unistd.h>

#include <cstdio>

namespace axrun::cli {
namespace {
constexpr auto first_after = std::chrono::seconds(1);
constexpr auto interval = std::chrono::milliseconds(250);
}  // namespace

Progress::Progress(bool wanted)
    : active_(wanted && isatty(STDERR_FILENO) == 1), next_(std::chrono::steady_clock::now() + first_after) {}

void Progress::show(const std::string& text) {
  if (!active_) return;
  // Carriage return, the text, and "erase to the end of the line".
  std::fprintf(stderr, "\r%s\x1b[K", text.c_str());
  std::fflush(stderr);
  shown_ = true;
  next_ = std::chrono::steady_clock::now() + interval;
}

void Progress::clear() {
  if (!shown_) return;
  std::fprintf(stderr, "\r\x1b[K");
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace axrun::cli
