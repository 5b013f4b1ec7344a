#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <chrono>
#include <memory>
#include <optional>

#include "runtime/serve/coroutines.h"
#include "runtime/serve/service.h"

namespace axrun::serve {

/// What a connection is doing: what it waits for, and for how long it may.
enum class Stage {
  idle,       ///< nothing of a request is there
  head,       ///< the head of a request is arriving
  body,       ///< its body is
  inference,  ///< the service has a request of it
  answer,     ///< an answer is being sent
  parting,    ///< nothing more is said; what the client still sends is read, so that it sees the last answer
};

/// What a connection is there for.
enum class Purpose {
  everything,
  probes,     ///< health and metrics; other things do not exist here
  only_news,  ///< one too many: one request, answered where it is for health or metrics, refused otherwise
};

/// A client's connection: one request after another, whose first bytes may come before the answer to the one
/// before is sent (pipelining). Lives in the thread of its listener; only what the service answers comes from
/// others.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Clock = std::chrono::steady_clock;
  Connection(boost::asio::ip::tcp::socket socket, Service& service, const ServerOptions& options,
             Purpose purpose);

  /// To its end; throws nothing but bad_alloc.
  boost::asio::awaitable<void> serve();

  Purpose purpose() const { return purpose_; }
  Stage stage() const { return stage_; }
  /// When the stage began, and when it has lasted too long.
  Clock::time_point since() const { return since_; }
  Clock::time_point deadline() const { return deadline_; }
  /// Whether its end would lose nothing that the client has said whole.
  bool waits_for_client() const {
    return stage_ == Stage::idle || stage_ == Stage::head || stage_ == Stage::parting;
  }
  /// Ends the stage at hand, and with it the connection: a request that is arriving is refused.
  void end_stage();
  /// Closes the connection without a word: only while it waits for its client.
  void give_way();
  /// What is being done is finished, shortly where that depends on the client; nothing new begins.
  void stop();

 private:
  struct Request;
  boost::asio::awaitable<bool> request_begins();
  boost::asio::awaitable<bool> serve_request();
  boost::asio::awaitable<bool> read_head(Request& request);
  boost::asio::awaitable<bool> read_body(Request& request);
  boost::asio::awaitable<HttpAnswer> ask_service(Request& request);
  boost::asio::awaitable<bool> refuse_reading(const Request& request, boost::system::error_code error);
  boost::asio::awaitable<bool> send(const Request& request, HttpAnswer answer, bool keep);
  boost::asio::awaitable<void> part();
  void begin(Stage stage);
  void cancel(bool silently);

  boost::asio::ip::tcp::socket socket_;
  Service& service_;
  const ServerOptions& options_;
  const Purpose purpose_;
  const std::string from_;
  boost::beast::flat_buffer buffer_;  ///< what has arrived and is not read
  Stage stage_ = Stage::idle;
  Clock::time_point since_ = Clock::now(), deadline_ = Clock::time_point::max();
  bool ended_ = false;   ///< the stage was, from outside
  bool silent_ = false;  ///< by give_way()
  bool stopping_ = false;
  bool client_gone_ = false;
  boost::asio::steady_timer answered_;  ///< ends when answer_ is there
  std::optional<HttpAnswer> answer_;
};

}  // namespace axrun::serve
