#include "runtime/optimizer/schedules_of_host.h"

#include "runtime/optimizer/message.h"
#include "runtime/optimizer/worker_protocol.h"

namespace axrun::runtime {
namespace {

using Kind = ScheduleMessage::Kind;

/// The host may be at other work for long; where it is gone the socket says so.
Deadline far() { return std::chrono::steady_clock::now() + std::chrono::hours(24); }

}  // namespace

bool SchedulesOfHost::send(const std::string& text) const {
  return send_message(socket_, text, far(), nullptr) == Transfer::done;
}

std::optional<std::string> SchedulesOfHost::load(const std::string& key) {
  std::string bytes;
  if (!send(to_text({Kind::load, key})) ||
      receive_message(socket_, bytes, longest_request, far(), nullptr) != Transfer::done ||
      !bytes.starts_with('1'))
    return std::nullopt;
  return bytes.substr(1);
}

void SchedulesOfHost::save(const std::string& key, const std::string& bytes) {
  if (send(to_text({Kind::save, key}))) send(bytes);
}

void SchedulesOfHost::reject(const std::string& key) { send(to_text({Kind::reject, key})); }

}  // namespace axrun::runtime
