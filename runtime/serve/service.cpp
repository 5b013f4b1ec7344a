#include "runtime/serve/service.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "runtime/metrics_text/metrics_text.h"
#include "runtime/serve/content_coding.h"
#include "runtime/version.h"

namespace axrun::serve {
namespace {

/// Seconds; from fast look-ups to what only a patient client waits for.
const prometheus::Histogram::BucketBoundaries latency_buckets = {
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10};
/// Of what clients send, so much is repeated to them.
constexpr size_t most_repeated = 200;

/// Those that run models, and some that read and write messages meanwhile.
size_t thread_count(size_t models, const ServerOptions& options) {
  return models * static_cast<size_t>(options.concurrency) +
         std::clamp<size_t>(std::thread::hardware_concurrency(), 2, 8);
}

}  // namespace

Service::Service(std::vector<ServedModel> models, const ServerOptions& options,
                 boost::asio::io_context& timers)
    : options_(options),
      buffered_(options.most_buffered_bytes),
      threads_(thread_count(models.size(), options)),
      tools_{options, threads_, timers, stopping_} {
  std::set<std::string> names;
  for (ServedModel& model : models) {
    require_servable(*model.session);
    if (!names.insert(model.name).second)
      throw Error(Fault::user, fmt::format("two models have the name '{}'", model.name));
    places_.push_back(std::make_unique<Place>(std::move(model), options_));
    count(*places_.back());
  }
}

Service::~Service() { threads_.join(); }

void Service::count(Place& place) {
  auto& requests = prometheus::BuildCounter()
                       .Name("axrun_server_requests_total")
                       .Help("Inferences asked for, by how they ended")
                       .Register(registry_);
  const std::string& name = place.model.name;
  place.answered = &requests.Add({{"model", name}, {"result", "ok"}});
  place.refused = &requests.Add({{"model", name}, {"result", "refused"}});
  place.failed = &requests.Add({{"model", name}, {"result", "failed"}});
  place.seconds = &prometheus::BuildHistogram()
                       .Name("axrun_server_request_seconds")
                       .Help("From having an inference's message to having its answer")
                       .Register(registry_)
                       .Add({{"model", name}}, latency_buckets);
}

Place* Service::find(const std::string& name) {
  const auto found = std::find_if(places_.begin(), places_.end(),
                                  [&](const auto& place) { return place->model.name == name; });
  return found == places_.end() ? nullptr : found->get();
}

std::optional<HttpAnswer> Service::answer(const RequestHead& head, const Target& target) {
  if (target.resource == Resource::none)
    return answer_of({404, "not_found", "there is nothing of this name"});
  if (!target.model.empty() && find(target.model) == nullptr)
    return answer_of(
        {404, "not_found", fmt::format("there is no model '{}'", target.model.substr(0, most_repeated))});
  if (!target.version.empty() && target.version != "1")
    return answer_of({404, "not_found",
                      fmt::format("model '{}' has version 1 only, no version '{}'", target.model,
                                  target.version.substr(0, most_repeated))});
  const std::string_view methods = methods_of(target.resource);
  const bool is_inference = target.resource == Resource::infer;
  if (is_inference ? head.method != "POST" : head.method != "GET" && head.method != "HEAD") {
    HttpAnswer answer = answer_of(
        {405, "wrong_method",
         is_inference ? "an inference is asked for with a body: POST it" : "this can only be read: GET it"});
    answer.headers.emplace_back("Allow", methods);
    return answer;
  }
  if (is_inference && !is_known_coding(head.content_coding))
    return answer_of({415, "user",
                      fmt::format("the message is coded as '{}': gzip and deflate can be read",
                                  head.content_coding.substr(0, most_repeated))});
  if (is_inference) return std::nullopt;
  HttpAnswer answer = answer_of_resource(target);
  encode(answer, head.accept_coding);
  return answer;
}

HttpAnswer Service::answer_of_resource(const Target& target) {
  switch (target.resource) {
    case Resource::server:
      return json_answer(
          200, {{"name", "axrun"}, {"version", runtime::version()}, {"extensions", {"binary_tensor_data"}}});
    case Resource::live:
      return json_answer(200, {{"live", true}});
    case Resource::ready: {
      const bool ready = ready_.load(std::memory_order_relaxed);
      return json_answer(ready ? 200 : 503, {{"ready", ready}});
    }
    case Resource::metrics: {
      HttpAnswer answer;
      answer.type = "text/plain; version=0.0.4";
      answer.body = metrics();
      return answer;
    }
    case Resource::model: {
      const Place& place = *find(target.model);
      return json_answer(200, model_metadata(*place.model.session, place.model.name));
    }
    case Resource::model_ready:
      return json_answer(200, {{"name", target.model}, {"ready", true}});
    case Resource::infer:
    case Resource::none:
      break;
  }
  throw Error(Fault::internal, "a resource without an answer");
}

std::string Service::metrics() const {
  std::vector<prometheus::MetricFamily> families = registry_.Collect();
  for (const auto& place : places_)
    runtime::add_metrics(*place->model.session, {{"model", place->model.name}}, families);
  return runtime::metrics_text(families);
}

void Service::infer(const RequestHead& head, const Target& target, Message message, Inference::Done done) {
  std::make_shared<Inference>(tools_, *find(target.model), head, std::move(message), std::move(done))
      ->start();
}

void Service::stop() {
  ready_ = false;
  stopping_.cancel();
  for (const auto& place : places_) {
    for (const std::shared_ptr<Inference>& waiting : place->turns.give_up_all())
      waiting->refuse({503, "cancelled", "the server is being stopped"});
  }
}

}  // namespace axrun::serve
