#include "runtime/serve/listener.h"

#include <fmt/format.h>

#include <algorithm>

namespace axrun::serve {

namespace net = boost::asio;
using boost::system::error_code;
using net::ip::tcp;

namespace {

/// Beside those that may be open: for probes, and for telling others that there are too many.
constexpr size_t connections_beyond = 64;
constexpr size_t most_probe_connections = 256;
/// How often connections are looked at that last too long.
constexpr std::chrono::milliseconds watch_interval{200};
/// No connection gives way before: its request may be on the way.
constexpr std::chrono::milliseconds shortest_stage{100};
/// Until something is tried again that the system has refused (it has no files left).
constexpr std::chrono::milliseconds retry_interval{20};

}  // namespace

Listener::Listener(net::io_context& context, Service& service, const ServerOptions& options, bool only_probes)
    : context_(context),
      service_(service),
      options_(options),
      purpose_(only_probes ? Purpose::probes : Purpose::everything),
      acceptor_(context),
      room_(context),
      watch_(context) {}

int Listener::bind(const std::string& host, int port) {
  error_code error;
  tcp::resolver resolver(context_);
  const auto found = resolver.resolve(host, std::to_string(port),
                                      tcp::resolver::passive | tcp::resolver::numeric_service, error);
  for (const auto& one : found) {
    error = {};
    const tcp::endpoint endpoint = one.endpoint();
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(net::socket_base::max_listen_connections, error);
    if (!error) return acceptor_.local_endpoint().port();
    error_code ignored;
    acceptor_.close(ignored);
  }
  throw Error(Fault::user, fmt::format("cannot listen on {}, port {}: {}", host, port, error.message()));
}

void Listener::start() {
  keep_doing(&Listener::accept);
  keep_doing(&Listener::watch);
}

/// Begins again where memory was short.
void Listener::keep_doing(net::awaitable<void> (Listener::*task)()) {
  net::co_spawn(context_, (this->*task)(), [this, task](const std::exception_ptr& failure) {
    if (failure) keep_doing(task);
  });
}

void Listener::stop() {
  stopping_ = true;
  error_code error;
  acceptor_.close(error);
  room_.cancel();
  watch_.cancel();
  for (const std::shared_ptr<Connection>& connection : connections_) connection->stop();
}

net::awaitable<void> Listener::accept() {
  const size_t most = purpose_ == Purpose::probes
                          ? most_probe_connections
                          : static_cast<size_t>(options_.connections) + connections_beyond;
  while (!stopping_) {
    error_code error;
    if (connections_.size() >= most && !make_room()) {
      room_.expires_after(retry_interval);
      co_await room_.async_wait(into(error));
      continue;
    }
    tcp::socket socket(context_);
    co_await acceptor_.async_accept(socket, into(error));
    if (stopping_) break;
    if (!error) {
      open(std::move(socket));
    } else if (error != net::error::connection_aborted) {
      make_room();
      room_.expires_after(retry_interval);
      co_await room_.async_wait(into(error));
    }
  }
}

void Listener::open(tcp::socket socket) {
  Purpose purpose = purpose_;
  if (purpose == Purpose::everything && connections_.size() >= static_cast<size_t>(options_.connections) &&
      !make_room())
    purpose = Purpose::only_news;
  const auto connection = std::make_shared<Connection>(std::move(socket), service_, options_, purpose);
  connections_.push_back(connection);
  net::co_spawn(
      context_, [connection] { return connection->serve(); },
      [this, connection](const std::exception_ptr&) { close(connection); });
}

void Listener::close(const std::shared_ptr<Connection>& connection) {
  connections_.remove(connection);
  room_.cancel();
}

/// Ends the connection that has waited longest for its client. False where none does.
bool Listener::make_room() {
  const auto latest = Connection::Clock::now() - shortest_stage;
  Connection* longest = nullptr;
  for (const std::shared_ptr<Connection>& one : connections_) {
    if (!one->waits_for_client() || one->since() > latest) continue;
    if (longest == nullptr || one->since() < longest->since()) longest = one.get();
  }
  if (longest == nullptr) return false;
  longest->give_way();
  return true;
}

net::awaitable<void> Listener::watch() {
  while (!stopping_ || !connections_.empty()) {
    error_code error;
    watch_.expires_after(watch_interval);
    co_await watch_.async_wait(into(error));
    const auto now = Connection::Clock::now();
    for (const std::shared_ptr<Connection>& one : connections_) {
      if (one->deadline() <= now) one->end_stage();
    }
  }
}

}  // namespace axrun::serve
