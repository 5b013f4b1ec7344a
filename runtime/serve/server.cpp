#include "runtime/serve/server.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <thread>

#include "runtime/serve/listener.h"
#include "runtime/serve/service.h"

namespace axrun::serve {

struct Server::Parts {
  ServerOptions options;
  boost::asio::io_context context{1}, probes_context{1};
  Service service;
  Listener listener, probes;

  Parts(std::vector<ServedModel> models, ServerOptions given)
      : options(std::move(given)),
        service(std::move(models), options, context),
        listener(context, service, options, false),
        probes(probes_context, service, options, true) {}
};

Server::Server(std::vector<ServedModel> models, ServerOptions options)
    : parts_(std::make_unique<Parts>(std::move(models), std::move(options))) {}

Server::~Server() = default;

Server::Ports Server::bind() {
  const ServerOptions& options = parts_->options;
  Ports ports;
  ports.port = parts_->listener.bind(options.host, options.port);
  if (options.health_port) ports.health_port = parts_->probes.bind(options.host, *options.health_port);
  return ports;
}

void Server::serve() {
  std::thread probing;
  if (parts_->options.health_port) {
    parts_->probes.start();
    probing = std::thread([this] { parts_->probes_context.run(); });
  }
  parts_->listener.start();
  parts_->context.run();
  if (!probing.joinable()) return;
  // Probes see to the last that the server is there, and not ready.
  boost::asio::post(parts_->probes_context, [this] { parts_->probes.stop(); });
  probing.join();
}

void Server::stop() {
  parts_->service.stop();
  boost::asio::post(parts_->context, [this] { parts_->listener.stop(); });
}

}  // namespace axrun::serve
