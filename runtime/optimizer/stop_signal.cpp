#include "runtime/optimizer/stop_signal.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

namespace axrun::runtime {

StopSignal::StopSignal() : descriptor_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), process_(getpid()) {}

StopSignal::~StopSignal() {
  if (descriptor_ >= 0) close(descriptor_);
}

void StopSignal::request() {
  if (getpid() != process_) return;
  requested_.store(true, std::memory_order_release);
  const uint64_t one = 1;
  // A full counter is readable as well: nothing to do when the write fails.
  if (descriptor_ >= 0 && write(descriptor_, &one, sizeof(one)) < 0) return;
}

bool StopSignal::wait_for(std::chrono::nanoseconds time, Bell* bell) const {
  const auto end = std::chrono::steady_clock::now() + time;
  while (!requested()) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now() + std::chrono::microseconds(999));
    if (left.count() <= 0) break;
    if (descriptor_ < 0) {
      std::this_thread::sleep_for(std::min(left, std::chrono::milliseconds(10)));
      continue;
    }
    pollfd polled[2] = {{descriptor_, POLLIN, 0}, {bell != nullptr ? bell->descriptor_ : -1, POLLIN, 0}};
    poll(polled, 2, static_cast<int>(std::min<int64_t>(left.count(), 1000)));
    uint64_t rings = 0;
    if (polled[1].revents != 0 && read(bell->descriptor_, &rings, sizeof(rings)) > 0) break;
  }
  return requested();
}

Bell::Bell() : descriptor_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Bell::~Bell() {
  if (descriptor_ >= 0) close(descriptor_);
}

void Bell::ring() {
  const uint64_t one = 1;
  if (descriptor_ >= 0 && write(descriptor_, &one, sizeof(one)) < 0) return;  // full: rung already
}

}  // namespace axrun::runtime
