#include "runtime/serve/server.h"

#include <fmt/format.h>
#include <httplib.h>
#include <prometheus/counter.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <charconv>
#include <chrono>
#include <nlohmann/json.hpp>
#include <set>

#include "ir/error_place.h"
#include "runtime/error_code.h"
#include "runtime/log.h"
#include "runtime/metrics_text/metrics_text.h"
#include "runtime/run_control.h"
#include "runtime/serve/inference_protocol.h"
#include "runtime/serve/turns.h"
#include "runtime/version.h"

namespace axrun::serve {

using Clock = runtime::RunControl::Clock;
using Json = nlohmann::ordered_json;
using runtime::code_of;
using runtime::LogLevel;
using runtime::RunControl;
using runtime::RunEnded;

namespace {

constexpr const char* json_type = "application/json";
constexpr const char* binary_type = "application/octet-stream";
constexpr const char* json_length_header = "Inference-Header-Content-Length";
/// Seconds; from fast look-ups to what only a patient client waits for.
const prometheus::Histogram::BucketBoundaries latency_buckets = {
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10};

/// What a client is told of a failure.
struct Refusal {
  int status = 500;
  const char* code =
      "internal";  ///< as runtime/error_code.h names it; besides "busy", "not_found", "too_large"
  std::string text;
  ErrorPlace place = {};  ///< what of the model it is about
};

void answer(httplib::Response& response, int status, const Json& json) {
  response.status = status;
  response.set_content(json.dump(-1, ' ', false, Json::error_handler_t::replace), json_type);
}
void refuse(httplib::Response& response, const Refusal& refusal) {
  Json json = {{"error", refusal.text}, {"code", refusal.code}};
  if (!refusal.place.input.empty()) json["input"] = refusal.place.input;
  if (!refusal.place.node.empty()) json["node"] = refusal.place.node;
  if (!refusal.place.op.empty()) json["op"] = refusal.place.op;
  answer(response, refusal.status, json);
  if (refusal.status == 503) response.set_header("Retry-After", "1");
}

int status_of(Fault fault) {
  switch (fault) {
    case Fault::user:
    case Fault::model:
      return 400;
    case Fault::unsupported:
      return 501;
    case Fault::internal:
      break;
  }
  return 500;
}

std::optional<size_t> json_length(const httplib::Request& request) {
  if (!request.has_header(json_length_header)) return std::nullopt;
  const std::string text = request.get_header_value(json_length_header);
  size_t length = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
  if (error != std::errc() || end != text.data() + text.size())
    throw Error(Fault::user, fmt::format("{} is no number of bytes", json_length_header));
  return length;
}

/// A model and what is counted of it.
struct Place {
  ServedModel model;
  Turns turns;
  prometheus::Counter *answered, *refused, *failed;
  prometheus::Histogram* seconds;
  std::atomic<int64_t> under_way{0};

  Place(ServedModel served, const ServerOptions& options)
      : model(std::move(served)), turns(options.concurrency, options.queue) {}
};

}  // namespace

struct Server::Parts {
  ServerOptions options;
  prometheus::Registry registry;
  std::vector<std::unique_ptr<Place>> places;
  RunControl stopping;
  httplib::Server http;

  Place* find(const std::string& name, const std::string& version) {
    if (!version.empty() && version != "1") return nullptr;
    for (const auto& place : places) {
      if (place->model.name == name) return place.get();
    }
    return nullptr;
  }

  void count(Place& place);
  void infer(Place& place, const httplib::Request& request, httplib::Response& response);
  InferenceAnswer infer(Place& place, const httplib::Request& request);
  std::string metrics() const;
  void route();
};

void Server::Parts::count(Place& place) {
  auto& requests = prometheus::BuildCounter()
                       .Name("axrun_server_requests_total")
                       .Help("Inferences asked for, by how they ended")
                       .Register(registry);
  const std::string& name = place.model.name;
  place.answered = &requests.Add({{"model", name}, {"result", "ok"}});
  place.refused = &requests.Add({{"model", name}, {"result", "refused"}});
  place.failed = &requests.Add({{"model", name}, {"result", "failed"}});
  place.seconds = &prometheus::BuildHistogram()
                       .Name("axrun_server_request_seconds")
                       .Help("From having an inference's message to having its answer")
                       .Register(registry)
                       .Add({{"model", name}}, latency_buckets);
}

InferenceAnswer Server::Parts::infer(Place& place, const httplib::Request& request) {
  const Clock::time_point start = Clock::now();
  runtime::Session& session = *place.model.session;
  const InferenceRequest asked = parse_request(session, request.body, json_length(request));
  const double seconds = asked.timeout_seconds > 0 ? asked.timeout_seconds : options.timeout_seconds;
  RunControl control;
  Clock::time_point deadline = Clock::time_point::max();
  if (seconds > 0) {
    deadline = start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    control.set_deadline(deadline);
  }
  switch (place.turns.enter(deadline)) {
    case Turns::Entry::full:
      throw Refusal{503, "busy",
                    fmt::format("'{}' has {} inferences to do already", place.model.name,
                                options.queue + options.concurrency)};
    case Turns::Entry::late:
      throw RunEnded(RunEnded::Why::deadline);
    case Turns::Entry::granted:
      break;
  }
  struct Leave {
    Turns& turns;
    ~Leave() { turns.leave(); }
  };
  std::vector<runtime::RuntimeValue> values;
  {
    const Leave leave{place.turns};
    stopping.check();
    values = session.run(asked.inputs, &control);
  }
  return write_answer(session, place.model.name, asked, values);
}

void Server::Parts::infer(Place& place, const httplib::Request& request, httplib::Response& response) {
  const Clock::time_point start = Clock::now();
  Refusal refusal;
  try {
    InferenceAnswer result = infer(place, request);
    place.seconds->Observe(std::chrono::duration<double>(Clock::now() - start).count());
    place.answered->Increment();
    if (result.json_bytes) response.set_header(json_length_header, std::to_string(*result.json_bytes));
    response.set_content(std::move(result.body), result.json_bytes ? binary_type : json_type);
    return;
  } catch (const Refusal& given) {
    refusal = given;
  } catch (const RunEnded& ended) {
    refusal = {ended.why() == RunEnded::Why::deadline ? 504 : 503, code_of(ended), ended.what()};
  } catch (const Error& error) {
    refusal = {status_of(error.fault()), code_of(error), error.what(), error_place(error)};
  } catch (const std::bad_alloc& error) {
    refusal = {503, code_of(error), "out of memory"};
  } catch (const std::exception& error) {
    refusal = {500, code_of(error), error.what()};
  }
  (refusal.status == 500 ? place.failed : place.refused)->Increment();
  const LogLevel level = refusal.status == 500 ? LogLevel::error : LogLevel::debug;
  if (runtime::logs(level)) {
    runtime::log({level,
                  "request_failed",
                  {{"served", place.model.name},
                   {"status", std::to_string(refusal.status)},
                   {"code", refusal.code},
                   {"error", refusal.text}}});
  }
  refuse(response, refusal);
}

std::string Server::Parts::metrics() const {
  std::vector<prometheus::MetricFamily> families = registry.Collect();
  for (const auto& place : places)
    runtime::add_metrics(*place->model.session, {{"model", place->model.name}}, families);
  return runtime::metrics_text(families);
}

void Server::Parts::route() {
  http.new_task_queue = [count = options.connections] {
    return new httplib::ThreadPool(static_cast<size_t>(count));
  };
  http.set_payload_max_length(options.most_body_bytes);
  http.set_keep_alive_max_count(static_cast<size_t>(1) << 30);
  http.set_tcp_nodelay(true);
  // The library's own choice lets two servers share a port without a word.
  http.set_socket_options([](socket_t socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  http.set_logger([](const httplib::Request& request, const httplib::Response& response) {
    if (!runtime::logs(LogLevel::debug)) return;
    runtime::log({LogLevel::debug,
                  "request",
                  {{"method", request.method},
                   {"path", request.path.substr(0, 200)},
                   {"status", std::to_string(response.status)},
                   {"from", request.remote_addr},
                   {"bytes_in", std::to_string(request.body.size())},
                   {"bytes_out", std::to_string(response.body.size())}}});
  });
  http.set_error_handler([](const httplib::Request&, httplib::Response& response) {
    if (!response.body.empty()) return;
    refuse(response, response.status == 404 ? Refusal{404, "not_found", "there is nothing of this name"}
                     : response.status == 413
                         ? Refusal{413, "too_large", "the message is too large"}
                         : Refusal{response.status, "user", "the request cannot be read"});
  });
  http.Get("/v2", [](const httplib::Request&, httplib::Response& response) {
    answer(response, 200,
           {{"name", "axrun"}, {"version", runtime::version()}, {"extensions", {"binary_tensor_data"}}});
  });
  const auto yes = [](const char* what) {
    return [what](const httplib::Request&, httplib::Response& response) {
      answer(response, 200, {{what, true}});
    };
  };
  http.Get("/v2/health/live", yes("live"));
  http.Get("/v2/health/ready", yes("ready"));
  http.Get("/metrics", [this](const httplib::Request&, httplib::Response& response) {
    response.set_content(metrics(), "text/plain; version=0.0.4");
  });
  const std::string model = "/v2/models/([^/]+)(?:/versions/([^/]+))?";
  const auto of_model = [this](auto&& handle) {
    return [this, handle](const httplib::Request& request, httplib::Response& response) {
      Place* const place = find(request.matches[1], request.matches[2]);
      if (place == nullptr) {
        refuse(response, {404, "not_found",
                          fmt::format("there is no model '{}'", request.matches[1].str().substr(0, 200))});
      } else {
        handle(*place, request, response);
      }
    };
  };
  http.Get(model, of_model([](Place& place, const auto&, httplib::Response& response) {
             answer(response, 200, model_metadata(*place.model.session, place.model.name));
           }));
  http.Get(model + "/ready", of_model([](Place& place, const auto&, httplib::Response& response) {
             answer(response, 200, {{"name", place.model.name}, {"ready", true}});
           }));
  http.Post(model + "/infer",
            of_model([this](Place& place, const httplib::Request& request, httplib::Response& response) {
              infer(place, request, response);
            }));
}

Server::Server(std::vector<ServedModel> models, ServerOptions options) : parts_(std::make_unique<Parts>()) {
  parts_->options = std::move(options);
  std::set<std::string> names;
  for (ServedModel& model : models) {
    require_servable(*model.session);
    if (!names.insert(model.name).second)
      throw Error(Fault::user, fmt::format("two models have the name '{}'", model.name));
    parts_->places.push_back(std::make_unique<Place>(std::move(model), parts_->options));
    parts_->count(*parts_->places.back());
  }
  parts_->route();
}

Server::~Server() = default;

int Server::bind() {
  const ServerOptions& options = parts_->options;
  const int port = options.port == 0 ? parts_->http.bind_to_any_port(options.host.c_str())
                   : parts_->http.bind_to_port(options.host.c_str(), options.port) ? options.port
                                                                                   : -1;
  if (port < 0)
    throw Error(Fault::user, fmt::format("cannot listen on {}, port {}", options.host, options.port));
  return port;
}

void Server::serve() { parts_->http.listen_after_bind(); }

void Server::stop() {
  parts_->stopping.cancel();
  parts_->http.stop();
}

}  // namespace axrun::serve
