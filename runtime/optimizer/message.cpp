#include "runtime/optimizer/message.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

namespace axrun::runtime {
namespace {

constexpr std::array<unsigned char, 4> mark = {'A', 'X', 'W', '1'};
constexpr size_t head_bytes = 8;

Transfer wait_for(int socket, short events, Deadline deadline, const StopSignal* stop) {
  while (true) {
    if (stop != nullptr && stop->requested()) return Transfer::stopped;
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now())
            .count();
    if (left < 0) return Transfer::timed_out;
    pollfd polled[2] = {{socket, events, 0}, {stop != nullptr ? stop->descriptor() : -1, POLLIN, 0}};
    // Not longer than a moment at once: a signal without a descriptor is looked at, too.
    const int ready = poll(polled, 2, static_cast<int>(std::min<int64_t>(left + 1, 100)));
    if (ready < 0 && errno != EINTR) return Transfer::closed;
    if (ready > 0 && polled[0].revents != 0) return Transfer::done;
  }
}

Transfer send_bytes(int socket, const char* bytes, size_t count, Deadline deadline, const StopSignal* stop) {
  while (count > 0) {
    const ssize_t sent = send(socket, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      bytes += sent;
      count -= static_cast<size_t>(sent);
    } else if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      const Transfer waited = wait_for(socket, POLLOUT, deadline, stop);
      if (waited != Transfer::done) return waited;
    } else if (!(sent < 0 && errno == EINTR)) {
      return Transfer::closed;
    }
  }
  return Transfer::done;
}

Transfer receive_bytes(int socket, char* bytes, size_t count, Deadline deadline, const StopSignal* stop) {
  while (count > 0) {
    const ssize_t got = recv(socket, bytes, count, MSG_DONTWAIT);
    if (got > 0) {
      bytes += got;
      count -= static_cast<size_t>(got);
    } else if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      const Transfer waited = wait_for(socket, POLLIN, deadline, stop);
      if (waited != Transfer::done) return waited;
    } else if (!(got < 0 && errno == EINTR)) {
      return Transfer::closed;
    }
  }
  return Transfer::done;
}

}  // namespace

Transfer send_message(int socket, std::string_view text, Deadline deadline, const StopSignal* stop) {
  if (text.size() > UINT32_MAX) return Transfer::malformed;
  char head[head_bytes];
  std::memcpy(head, mark.data(), mark.size());
  for (size_t k = 0; k < 4; ++k) head[4 + k] = static_cast<char>(text.size() >> (8 * k));
  const Transfer sent = send_bytes(socket, head, head_bytes, deadline, stop);
  return sent == Transfer::done ? send_bytes(socket, text.data(), text.size(), deadline, stop) : sent;
}

Transfer await_message(int socket, Deadline deadline, const StopSignal* stop) {
  return wait_for(socket, POLLIN, deadline, stop);
}

Transfer receive_message(int socket, std::string& text, size_t limit, Deadline deadline,
                         const StopSignal* stop) {
  char head[head_bytes];
  const Transfer got = receive_bytes(socket, head, head_bytes, deadline, stop);
  if (got != Transfer::done) return got;
  size_t size = 0;
  for (size_t k = 0; k < 4; ++k) size |= size_t{static_cast<unsigned char>(head[4 + k])} << (8 * k);
  if (std::memcmp(head, mark.data(), mark.size()) != 0 || size > limit) return Transfer::malformed;
  // Grows as bytes arrive: a length that is a lie costs nothing.
  constexpr size_t piece = size_t{1} << 16;
  text.clear();
  while (text.size() < size) {
    const size_t before = text.size();
    text.resize(std::min(size, before + piece));
    const Transfer more = receive_bytes(socket, text.data() + before, text.size() - before, deadline, stop);
    if (more != Transfer::done) return more;
  }
  return Transfer::done;
}

}  // namespace axrun::runtime
