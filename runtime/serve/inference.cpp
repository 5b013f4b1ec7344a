#include "runtime/serve/inference.h"

#include <fmt/format.h>

#include <boost/asio/post.hpp>
#include <charconv>

#include "runtime/log.h"
#include "runtime/serve/content_coding.h"

namespace axrun::serve {
namespace {

using runtime::LogLevel;
using runtime::RunEnded;
using runtime::RuntimeValue;

constexpr const char* binary_type = "application/octet-stream";
constexpr const char* json_length_field = "Inference-Header-Content-Length";

std::optional<size_t> json_length(const std::string& text) {
  if (text.empty()) return std::nullopt;
  size_t length = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
  if (error != std::errc() || end != text.data() + text.size())
    throw Error(Fault::user, fmt::format("{} is no number of bytes", json_length_field));
  return length;
}

}  // namespace

Inference::Inference(InferenceTools tools, Place& place, RequestHead head, Message message, Done done)
    : tools_(tools),
      place_(place),
      head_(std::move(head)),
      message_(std::move(message)),
      done_(std::move(done)),
      timer_(tools.timers) {}

void Inference::start() {
  if (!place_.turns.admit()) {
    const int most = tools_.options.queue + tools_.options.concurrency;
    const Refusal refusal{503, "busy",
                          fmt::format("'{}' has {} inferences to do already", place_.model.name, most)};
    note(refusal);
    done_(answer_of(refusal));
    return;
  }
  boost::asio::post(tools_.threads, [self = shared_from_this()] { self->read(); });
}

void Inference::read() {
  try {
    read_message();
  } catch (...) {
    refuse(refusal_of_current_exception());
    return;
  }
  if (place_.turns.enter(shared_from_this())) {
    run();
  } else if (deadline_ != Clock::time_point::max()) {
    wait_until_deadline();
  }
}

void Inference::read_message() {
  message_ = decoded(std::move(message_), head_.content_coding, tools_.options.most_message_bytes);
  const std::optional<size_t> json_bytes = json_length(head_.json_length);
  const HeldBytes parsing =
      room_to_parse(std::string_view(message_.bytes).substr(0, json_bytes.value_or(std::string_view::npos)));
  asked_ = parse_request(*place_.model.session, message_.bytes, json_bytes);
  const double seconds = asked_.timeout_seconds > 0 ? asked_.timeout_seconds : tools_.options.timeout_seconds;
  if (seconds > 0) {
    deadline_ = start_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    control_.set_deadline(deadline_);
  }
}

HeldBytes Inference::room_to_parse(std::string_view json) const {
  BufferLimit* const limit = message_.held.limit();
  if (limit == nullptr) return {};
  HeldBytes room(*limit);
  const size_t bytes = most_bytes_to_parse(json);
  if (bytes > limit->most())
    throw Refusal{413, "too_large", "the message has too many elements in JSON: send binary data"};
  if (!room.grow(bytes)) throw Refusal{503, "busy", "too many messages are held already"};
  return room;
}

void Inference::wait_until_deadline() {
  // Another thread may run this meanwhile: it does not touch the timer, whose end comes with this object's.
  timer_.expires_at(deadline_);
  timer_.async_wait([weak = weak_from_this()](boost::system::error_code error) {
    const std::shared_ptr<Inference> self = weak.lock();
    if (error || self == nullptr || !self->place_.turns.give_up(self)) return;
    boost::asio::post(self->tools_.threads, [self] {
      self->refuse({504, "deadline", RunEnded(RunEnded::Why::deadline).what()});
    });
  });
}

void Inference::run() {
  std::optional<std::vector<RuntimeValue>> values;
  Refusal refusal;
  try {
    tools_.stopping.check();
    values = place_.model.session->run(asked_.inputs, &control_);
  } catch (...) {
    refusal = refusal_of_current_exception();
  }
  // The next one runs while this one's answer is written.
  if (std::shared_ptr<Inference> next = place_.turns.end_turn())
    boost::asio::post(tools_.threads, [next = std::move(next)] { next->run(); });
  if (!values) {
    refuse(refusal);
    return;
  }
  HttpAnswer answer;
  try {
    InferenceAnswer written = write_answer(*place_.model.session, place_.model.name, asked_, *values);
    if (written.json_bytes) {
      answer.type = binary_type;
      answer.headers.emplace_back(json_length_field, std::to_string(*written.json_bytes));
    }
    answer.body = std::move(written.body);
    encode(answer, head_.accept_coding);
  } catch (...) {
    refuse(refusal_of_current_exception());
    return;
  }
  place_.seconds->Observe(std::chrono::duration<double>(Clock::now() - start_).count());
  place_.answered->Increment();
  this->answer(std::move(answer));
}

void Inference::refuse(const Refusal& refusal) {
  note(refusal);
  answer(answer_of(refusal));
}

void Inference::note(const Refusal& refusal) const {
  (refusal.status == 500 ? place_.failed : place_.refused)->Increment();
  const LogLevel level = refusal.status == 500 ? LogLevel::error : LogLevel::debug;
  if (runtime::logs(level)) {
    runtime::log({level,
                  "request_failed",
                  {{"served", place_.model.name},
                   {"status", std::to_string(refusal.status)},
                   {"code", refusal.code},
                   {"error", refusal.text}}});
  }
}

void Inference::answer(HttpAnswer answer) {
  if (BufferLimit* const limit = message_.held.limit()) {
    answer.held = HeldBytes(*limit);
    answer.held.grow_anyway(answer.body.size());
  }
  message_ = {};
  place_.turns.leave_room();
  done_(std::move(answer));
}

}  // namespace axrun::serve
