#pragma once

#include <prometheus/counter.h>
#include <prometheus/histogram.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <memory>

#include "runtime/run_control.h"
#include "runtime/serve/http_message.h"
#include "runtime/serve/inference_protocol.h"
#include "runtime/serve/refusal.h"
#include "runtime/serve/server.h"
#include "runtime/serve/turns.h"

namespace axrun::serve {

class Inference;

/// A model and what is counted of it.
struct Place {
  ServedModel model;
  Turns<Inference> turns;
  prometheus::Counter *answered = nullptr, *refused = nullptr, *failed = nullptr;
  prometheus::Histogram* seconds = nullptr;

  Place(ServedModel served, const ServerOptions& options)
      : model(std::move(served)), turns(options.concurrency, options.queue) {}
};

/// What all inferences use.
struct InferenceTools {
  const ServerOptions& options;
  boost::asio::thread_pool& threads;  ///< more than all models' concurrency together
  boost::asio::io_context& timers;
  runtime::RunControl& stopping;
};

/// One inference, from a message to its answer: decompressed, read, run when it is its turn, written.
class Inference : public std::enable_shared_from_this<Inference> {
 public:
  /// Called once, from any thread.
  using Done = std::function<void(HttpAnswer)>;
  Inference(InferenceTools tools, Place& place, RequestHead head, Message message, Done done);

  /// Returns at once. Refused at once where the model has too much to do.
  void start();
  /// For one that waits no longer for its turn.
  void refuse(const Refusal& refusal);

 private:
  void read();
  void read_message();
  HeldBytes room_to_parse(std::string_view json) const;
  void wait_until_deadline();
  void run();
  void note(const Refusal& refusal) const;
  void answer(HttpAnswer answer);

  using Clock = runtime::RunControl::Clock;
  InferenceTools tools_;
  Place& place_;
  const RequestHead head_;
  Message message_;
  Done done_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point deadline_ = Clock::time_point::max();
  runtime::RunControl control_;
  InferenceRequest asked_;
  boost::asio::steady_timer timer_;
};

}  // namespace axrun::serve
