#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/session.h"

namespace axrun::serve {

struct ServerOptions {
  std::string host = "127.0.0.1";
  int port = 8000;       ///< 0: any that is free
  int connections = 16;  ///< served at the same time; others wait
  int queue = 64;        ///< inferences under way or waiting; beyond them clients are told to come again
  int concurrency = 1;   ///< inferences of one model under way at the same time
  size_t most_body_bytes = size_t{256} << 20;
  double timeout_seconds =
      0;  ///< of one inference, its waiting included, where the client says nothing; 0: none
};

struct ServedModel {
  std::string name;
  std::shared_ptr<runtime::Session> session;
};

/// An HTTP server that speaks the Open Inference Protocol (version 2) for a few models:
///   GET  /v2, /v2/health/live, /v2/health/ready, /v2/models/NAME[/versions/1][/ready]
///   POST /v2/models/NAME[/versions/1]/infer
///   GET  /metrics    in Prometheus' text format
/// Failures answer {"error": "...", "code": "..."}, and "input", or "node" and "op", where they are about
/// one: 400 for the client's mistakes, 404 for unknown models, 413 for messages that are too large, 503 where
/// the queue is full, 504 at a deadline, 500 for our own.
class Server {
 public:
  /// Throws Error: unsupported for models that cannot be served, user where two have one name.
  Server(std::vector<ServedModel> models, ServerOptions options);
  ~Server();
  /// Binds; throws Error(user) where that fails. Returns the port.
  int bind();
  /// Serves until stop(). Runs under way go on to their ends first; what waits for its turn is refused.
  void serve();
  /// From any thread.
  void stop();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace axrun::serve
