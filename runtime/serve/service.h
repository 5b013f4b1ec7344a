#pragma once

#include <prometheus/registry.h>

#include <memory>
#include <optional>
#include <vector>

#include "runtime/serve/inference.h"
#include "runtime/serve/routes.h"

namespace axrun::serve {

/// What the server says, apart from how it is carried: the same for all its connections and ports.
class Service {
 public:
  /// Throws Error: unsupported for models that cannot be served, user where two have one name. What waits for
  /// a deadline does so in `timers`, which must be run by somebody and outlive this.
  Service(std::vector<ServedModel> models, const ServerOptions& options, boost::asio::io_context& timers);
  ~Service();

  /// Empty where it takes an inference, and with it the request's body. Quick: waits for nothing.
  std::optional<HttpAnswer> answer(const RequestHead& head, const Target& target);
  /// A body, before any of it is there.
  Message message() { return {{}, HeldBytes(buffered_)}; }
  /// Where answer() is empty.
  void infer(const RequestHead& head, const Target& target, Message message, Inference::Done done);

  /// What waits for its turn is refused, and what comes from now on. From any thread.
  void stop();

 private:
  Place* find(const std::string& name);
  void count(Place& place);
  HttpAnswer answer_of_resource(const Target& target);
  std::string metrics() const;

  const ServerOptions& options_;
  BufferLimit buffered_;
  prometheus::Registry registry_;
  std::vector<std::unique_ptr<Place>> places_;
  runtime::RunControl stopping_;
  std::atomic<bool> ready_{true};
  boost::asio::thread_pool threads_;  // last: they use all of this
  InferenceTools tools_;
};

}  // namespace axrun::serve
