#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <list>
#include <memory>
#include <string>

#include "runtime/serve/connection.h"
#include "runtime/serve/coroutines.h"

namespace axrun::serve {

/// A port, and the connections that clients make to it. All in the thread that runs the context.
class Listener {
 public:
  /// only_probes: health and metrics, and nothing else.
  Listener(boost::asio::io_context& context, Service& service, const ServerOptions& options,
           bool only_probes);

  /// Returns the port; throws Error(user) where it cannot be had. Connections wait until start().
  int bind(const std::string& host, int port);
  void start();
  /// The context has nothing more to do when the last connection has ended.
  void stop();

 private:
  boost::asio::awaitable<void> accept();
  boost::asio::awaitable<void> watch();
  void keep_doing(boost::asio::awaitable<void> (Listener::*task)());
  void open(boost::asio::ip::tcp::socket socket);
  void close(const std::shared_ptr<Connection>& connection);
  bool make_room();

  boost::asio::io_context& context_;
  Service& service_;
  const ServerOptions& options_;
  const Purpose purpose_;
  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::steady_timer room_;   ///< ends when a connection has
  boost::asio::steady_timer watch_;  ///< ends when it is time to look for what lasts too long
  std::list<std::shared_ptr<Connection>> connections_;
  bool stopping_ = false;
};

}  // namespace axrun::serve
