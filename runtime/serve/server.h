#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/session.h"

namespace axrun::serve {

struct ServerOptions {
  std::string host = "127.0.0.1";
  int port = 8000;                 ///< 0: any that is free
  std::optional<int> health_port;  ///< another one, for health and metrics alone; 0: any that is free
  int concurrency = 1;             ///< inferences of one model under way at the same time
  int queue = 64;                  ///< inferences of one model that wait; beyond them clients get 503
  int connections = 1024;  ///< open at the same time; beyond them those give way that wait for their clients
  size_t most_message_bytes = size_t{256} << 20;  ///< of one message, decompressed
  size_t most_buffered_bytes = size_t{1} << 30;   ///< of all messages that are held at the same time
  double timeout_seconds =
      0;  ///< of one inference, its waiting included, where the client says nothing; 0: none
  double header_timeout_seconds = 10;   ///< for the head of a request to arrive, whole
  double message_timeout_seconds = 60;  ///< for a request to arrive and for an answer to be taken, whole
  double idle_timeout_seconds = 75;     ///< for the next request of a connection
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
/// one: 400 for the client's mistakes, 404 for unknown models, 405 for methods that a resource does not have,
/// 408 for messages that arrive too slowly, 413 for those that are too large, 415 for codings other than gzip
/// and deflate, 503 where there is no room, 504 at a deadline, 500 for our own.
///
/// One thread reads and writes all connections, those that wait included; inferences run in threads of their
/// own. Health and metrics are answered by the former, at once, and on their own port by a third kind.
class Server {
 public:
  /// Throws Error: unsupported for models that cannot be served, user where two have one name.
  Server(std::vector<ServedModel> models, ServerOptions options);
  ~Server();
  struct Ports {
    int port = 0;
    std::optional<int> health_port;
  };
  /// Binds; throws Error(user) where that fails.
  Ports bind();
  /// Serves until stop(). Runs under way go on to their ends first; what waits for its turn is refused.
  void serve();
  /// From any thread.
  void stop();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace axrun::serve
