#include "runtime/serve/connection.h"

#include <fmt/format.h>

#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

#include "runtime/log.h"
#include "runtime/serve/message_body.h"
#include "runtime/serve/routes.h"

namespace axrun::serve {

namespace net = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;
using runtime::LogLevel;

namespace {

constexpr std::uint32_t most_head_bytes = 64 << 10;
/// Bytes that are read at a time: 512 unless there is room for more.
constexpr size_t head_buffer = 16 << 10, body_buffer = 64 << 10;
/// The body of a request that is refused is read where it is no longer; otherwise the connection ends.
constexpr std::uint64_t most_bytes_read_in_vain = 64 << 10;
/// A client that is still sending when it is refused sees the answer when it has sent everything, or by then.
constexpr std::chrono::seconds parting_time{30};
/// For a connection that is one too many.
constexpr std::chrono::seconds time_for_news{2};
/// When the server stops.
constexpr std::chrono::milliseconds last_arrival{1000}, last_answer{5000}, last_parting{300};

std::chrono::nanoseconds from_seconds(double seconds) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds));
}

std::string address_of(const net::ip::tcp::socket& socket) {
  error_code error;
  const auto endpoint = socket.remote_endpoint(error);
  return error ? std::string() : endpoint.address().to_string(error);
}

void log_request(const RequestHead& head, size_t bytes_in, const HttpAnswer& answer) {
  if (!runtime::logs(LogLevel::debug)) return;
  runtime::log({LogLevel::debug,
                "request",
                {{"method", head.method},
                 {"path", head.target.substr(0, 200)},
                 {"status", std::to_string(answer.status)},
                 {"from", head.from},
                 {"bytes_in", std::to_string(bytes_in)},
                 {"bytes_out", std::to_string(answer.body.size())}}});
}

}  // namespace

struct Connection::Request {
  http::request_parser<MessageBody> parser;
  RequestHead head;
  Target target;
  unsigned version = 11;
  size_t bytes_in = 0;
};

Connection::Connection(net::ip::tcp::socket socket, Service& service, const ServerOptions& options,
                       Purpose purpose)
    : socket_(std::move(socket)),
      service_(service),
      options_(options),
      purpose_(purpose),
      from_(address_of(socket_)),
      answered_(socket_.get_executor(), net::steady_timer::time_point::max()) {}

void Connection::begin(Stage stage) {
  stage_ = stage;
  since_ = Clock::now();
  ended_ = silent_ = false;
  std::chrono::nanoseconds most{};
  switch (stage) {
    case Stage::idle:
      most = stopping_ ? std::chrono::nanoseconds(0) : from_seconds(options_.idle_timeout_seconds);
      break;
    case Stage::head:
      most = from_seconds(options_.header_timeout_seconds);
      break;
    case Stage::body:
    case Stage::answer:
      most = from_seconds(options_.message_timeout_seconds);
      break;
    case Stage::inference:
      deadline_ = Clock::time_point::max();
      return;
    case Stage::parting:
      most = parting_time;
      break;
  }
  if (purpose_ == Purpose::only_news) most = std::min<std::chrono::nanoseconds>(most, time_for_news);
  deadline_ = since_ + std::chrono::duration_cast<Clock::duration>(most);
  if (stopping_) stop();
}

void Connection::end_stage() { cancel(false); }
void Connection::give_way() { cancel(true); }

void Connection::cancel(bool silently) {
  ended_ = true;
  silent_ = silently;
  error_code error;
  socket_.cancel(error);
}

void Connection::stop() {
  stopping_ = true;
  const auto at_most = [&](Clock::duration time) { deadline_ = std::min(deadline_, Clock::now() + time); };
  switch (stage_) {
    case Stage::idle:
      end_stage();
      break;
    case Stage::head:
    case Stage::body:
      at_most(last_arrival);
      break;
    case Stage::inference:
      break;
    case Stage::answer:
      at_most(last_answer);
      break;
    case Stage::parting:
      at_most(last_parting);
      break;
  }
}

net::awaitable<void> Connection::serve() {
  error_code error;
  socket_.set_option(net::ip::tcp::no_delay(true), error);
  while (co_await request_begins()) {
    if (!co_await serve_request()) break;
  }
  if (!client_gone_ && !silent_) co_await part();
  socket_.close(error);
}

net::awaitable<bool> Connection::request_begins() {
  begin(Stage::idle);
  if (ended_) co_return false;
  if (buffer_.size() > 0) co_return true;
  buffer_.shrink_to_fit();  // many wait here: none keeps memory
  // Nothing is said to a client that asked for nothing: it would take that for its next answer.
  error_code error;
  co_await socket_.async_wait(net::ip::tcp::socket::wait_read, into(error));
  co_return !error;
}

net::awaitable<bool> Connection::serve_request() {
  Request request;
  if (!co_await read_head(request)) co_return false;
  std::optional<HttpAnswer> answer;
  const bool exists = purpose_ != Purpose::probes || is_for_probes(request.target.resource);
  if (purpose_ == Purpose::only_news && !is_for_probes(request.target.resource)) {
    answer = answer_of({503, "busy", "the server has too many connections"});
  } else {
    answer = service_.answer(request.head, exists ? request.target : Target{});
  }
  const bool must_end = stopping_ || purpose_ == Purpose::only_news;
  auto& parser = request.parser;
  if (answer) {
    // Where there is a body the client sends it, whatever is answered.
    if (!parser.is_done()) {
      const bool is_short = parser.content_length() && *parser.content_length() <= most_bytes_read_in_vain;
      const bool waits = !parser.get()[http::field::expect].empty();
      if (must_end || !is_short || waits) {
        co_await send(request, std::move(*answer), false);
        co_return false;
      }
      if (!co_await read_body(request)) co_return false;
    }
    co_return co_await send(request, std::move(*answer), parser.keep_alive() && !must_end);
  }
  if (!co_await read_body(request)) co_return false;
  HttpAnswer inferred = co_await ask_service(request);
  co_return co_await send(request, std::move(inferred), parser.keep_alive() && !stopping_);
}

net::awaitable<bool> Connection::read_head(Request& request) {
  begin(Stage::head);
  auto& parser = request.parser;
  parser.header_limit(most_head_bytes);
  parser.body_limit(options_.most_message_bytes);
  parser.get().body() = service_.message();
  error_code error;
  buffer_.reserve(head_buffer);
  co_await http::async_read_header(socket_, buffer_, parser, into(error));
  const auto& message = parser.get();
  const auto text = [&](auto name) { return std::string(message[name]); };
  request.head = {std::string(message.method_string()),
                  std::string(message.target()),
                  from_,
                  text("Inference-Header-Content-Length"),
                  text(http::field::content_encoding),
                  text(http::field::accept_encoding)};
  if (error) co_return co_await refuse_reading(request, error);
  request.version = message.version();
  request.target = target_of(request.head.target);
  co_return true;
}

net::awaitable<bool> Connection::read_body(Request& request) {
  auto& parser = request.parser;
  if (parser.is_done()) co_return true;
  begin(Stage::body);
  error_code error;
  if (boost::beast::iequals(parser.get()[http::field::expect], "100-continue")) {
    static constexpr char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
    co_await net::async_write(socket_, net::buffer(go_on, sizeof go_on - 1), into(error));
  }
  buffer_.reserve(body_buffer);
  if (!error) co_await http::async_read(socket_, buffer_, parser, into(error));
  request.bytes_in = parser.get().body().bytes.size();
  if (error) co_return co_await refuse_reading(request, error);
  co_return true;
}

net::awaitable<bool> Connection::refuse_reading(const Request& request, error_code error) {
  namespace errc = boost::system::errc;
  Refusal refusal{400, "user", fmt::format("the request cannot be read: {}", error.message())};
  if (silent_) co_return false;
  if (ended_) {
    refusal = stopping_ ? Refusal{503, "cancelled", "the server is being stopped"}
                        : Refusal{408, "too_slow", "the request did not arrive in time"};
  } else if (error == http::error::body_limit) {
    refusal = {413, "too_large",
               fmt::format("the message has more than {} bytes", options_.most_message_bytes)};
  } else if (error == http::error::header_limit) {
    refusal = {431, "too_large", fmt::format("the request's head has more than {} bytes", most_head_bytes)};
  } else if (error == errc::not_enough_memory) {
    refusal = {503, "busy", "too many messages are held already"};
  } else if (error.category() != make_error_code(http::error::body_limit).category() ||
             error == http::error::end_of_stream || error == http::error::partial_message) {
    client_gone_ = true;  // nobody is there to be told
    co_return false;
  }
  co_await send(request, answer_of(refusal), false);
  co_return false;
}

net::awaitable<HttpAnswer> Connection::ask_service(Request& request) {
  begin(Stage::inference);
  answer_.reset();
  answered_.expires_at(net::steady_timer::time_point::max());
  // The answer is brought by this connection's own thread, which comes to it when this waits.
  service_.infer(request.head, request.target, std::move(request.parser.get().body()),
                 [self = shared_from_this()](HttpAnswer answer) {
                   net::post(self->socket_.get_executor(), [self, answer = std::move(answer)]() mutable {
                     self->answer_ = std::move(answer);
                     self->answered_.cancel();
                   });
                 });
  error_code error;
  while (!answer_) co_await answered_.async_wait(into(error));
  HttpAnswer answer = std::move(*answer_);
  answer_.reset();
  co_return answer;
}

net::awaitable<bool> Connection::send(const Request& request, HttpAnswer answer, bool keep) {
  begin(Stage::answer);
  log_request(request.head, request.bytes_in, answer);
  http::response<http::string_body> response(static_cast<http::status>(answer.status), request.version);
  response.set(http::field::content_type, answer.type);
  for (const auto& [name, value] : answer.headers) response.set(name, value);
  response.content_length(answer.body.size());
  response.keep_alive(keep);
  if (request.head.method != "HEAD") response.body() = std::move(answer.body);
  error_code error;
  co_await http::async_write(socket_, response, into(error));
  if (error) client_gone_ = true;
  co_return keep && !error;
}

net::awaitable<void> Connection::part() {
  begin(Stage::parting);
  error_code error;
  socket_.shutdown(net::ip::tcp::socket::shutdown_send, error);
  std::vector<char> rest(16 << 10);
  while (!error && !ended_) co_await socket_.async_read_some(net::buffer(rest), into(error));
}

}  // namespace axrun::serve
