#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "runtime/optimizer/stop_signal.h"

namespace axrun::runtime {

/// How an attempt to move a message over a socket ended.
enum class Transfer {
  done,
  closed,     ///< the other side is gone
  timed_out,  ///< the deadline passed
  stopped,    ///< the signal came
  malformed,  ///< what arrived is no message, or is larger than the limit
};

using Deadline = std::chrono::steady_clock::time_point;

/// A message is a mark of four bytes, its length in four bytes (little endian), and that many bytes. These
/// functions wait for the socket, the deadline or the signal (null: none), never raise SIGPIPE, and leave the
/// socket useless unless they answer `done`.
Transfer send_message(int socket, std::string_view text, Deadline deadline, const StopSignal* stop);
/// Until there is something to receive: `done`.
Transfer await_message(int socket, Deadline deadline, const StopSignal* stop);
Transfer receive_message(int socket, std::string& text, size_t limit, Deadline deadline,
                         const StopSignal* stop);

}  // namespace axrun::runtime
