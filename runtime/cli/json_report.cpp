#include <nlohmann/json.hpp>

#include "runtime/cli/forms_report.h"
#include "runtime/cli/json_text.h"
#include "runtime/cli/optimiser_report.h"
#include "runtime/cli/record.h"
#include "runtime/cli/values.h"
#include "runtime/version.h"

namespace axrun::cli {

using Json = nlohmann::ordered_json;
using runtime::RuntimeValue;
using runtime::StepProfile;

namespace {

/// Changes when a member changes its meaning or goes away; new members do not count.
constexpr int schema_version = 1;

Json output_json(const OutputRecord& output) {
  Json json;
  json["name"] = output.name;
  const bool tensor = output.value.kind == ir::ValueKind::tensor;
  json["type"] = tensor ? std::string(ir::name_of(output.value.type)) : kind_name(output.value.kind);
  json["shape"] = tensor ? Json(output.value.tensor.shape()) : Json(nullptr);
  json["max_abs_error"] = output.comparison ? number(output.comparison->max_abs_error) : Json(nullptr);
  json["ok"] = output.comparison ? Json(output.comparison->ok) : Json(nullptr);
  if (output.comparison && !output.comparison->ok) json["why"] = output.comparison->why;
  return json;
}

Json steps_json(const std::vector<StepProfile>& steps, size_t runs) {
  double total = 0;
  for (const StepProfile& step : steps) total += step.own_us();
  Json list = Json::array();
  for (const StepProfile& step : steps) {
    Json json;
    json["name"] = step.name;
    json["op"] = step.op;
    json["kernel"] = step.kernel;
    json["shape"] = step.shape;
    json["proof"] = step.proof.empty() ? Json(nullptr) : Json(step.proof);
    if (step.runs > 0 && runs > 0) {
      const double us = step.own_us() / static_cast<double>(runs);
      json["calls"] = step.runs;
      json["us_per_run"] = us;
      json["share"] = total > 0 ? step.own_us() / total : 0;
      const double seconds = step.own_us() * 1e-6 / static_cast<double>(step.runs);
      json["flops"] = step.flops;
      json["bytes"] = step.bytes;
      json["flops_per_s"] = seconds > 0 ? number(step.flops / seconds) : Json(nullptr);
      json["bytes_per_s"] = seconds > 0 ? number(step.bytes / seconds) : Json(nullptr);
    }
    list.push_back(std::move(json));
  }
  return list;
}

Json machine_json(const runtime::Machine& machine) {
  return {{"cpu", machine.cpu},
          {"processors", machine.processors},
          {"available_processors", machine.available_processors},
          {"isa", machine.isa},
          {"memory_bytes", machine.memory_bytes},
          {"system", machine.system}};
}

Json settings_json(const Record& record, const Options& options) {
  Json settings;
  settings["tier"] = tier_name(options.tier);
  settings["mode"] = options.mode == Options::Mode::throughput ? "throughput" : "latency";
  settings["threads"] = record.threads;
  settings["streams"] = record.measurement.spread.streams;
  settings["pinned_to"] = record.measurement.spread.processors.empty()
                              ? Json(nullptr)
                              : Json(record.measurement.spread.processors);
  settings["seed"] = options.seed;
  settings["tolerance"] = tolerance_of(options).relative;
  settings["warmup_runs"] = record.measurement.warmup_runs;
  settings["bound_buffers"] = record.measurement.bound;
  settings["profiled"] = options.profiling();
  settings["budget_s"] = options.budget ? Json(*options.budget) : Json(nullptr);
  settings["deterministic"] = options.deterministic;
  settings["fp"] = options.numeric_class;
  return settings;
}

Json start_of_record() {
  Json json;
  json["schema_version"] = schema_version;
  json["version"] = runtime::version();
  json["build"] = runtime::build_text();
  return json;
}

}  // namespace

std::string json_report(const Record& record, const Options& options) {
  Json json = start_of_record();
  json["model"] = record.model;
  json["tier"] = tier_name(options.tier);
  json["load_ms"] = record.load_ms;
  json["plan_ms"] = record.measurement.plan_ms;
  json["first_ms"] = record.measurement.first_ms;
  json["start_to_first_ms"] = record.start_to_first_ms;
  const Latency& latency = record.latency;
  json["latency_ms"] = {{"min", latency.min}, {"mean", latency.mean},    {"p50", latency.p50},
                        {"p90", latency.p90}, {"p95", latency.p95},      {"p99", latency.p99},
                        {"max", latency.max}, {"stddev", latency.stddev}};
  json["runs"] = record.measurement.times_ms.size();
  json["runs_per_second"] = number(record.measurement.runs_per_second);
  json["threads"] = record.threads;
  json["peak_rss_bytes"] = record.peak_rss_bytes;
  json["inputs"] = record.inputs;
  json["outputs"] = Json::array();
  for (const OutputRecord& output : record.outputs) json["outputs"].push_back(output_json(output));
  json["kernels"] = steps_json(record.steps, record.measurement.times_ms.size());
  json["plans"] = forms_json(record.forms);
  if (record.measurement.optimisation.asked)
    json["optimiser"] = optimiser_json(record.measurement.optimisation);
  if (record.divergence) {
    const runtime::Divergence& first = *record.divergence;
    json["first_divergence"] = {{"node", first.node},
                                {"op", first.op},
                                {"output", first.output},
                                {"max_error", number(first.max_error)},
                                {"scale", number(first.scale)}};
  }
  json["notes"] = record.notes;
  if (!record.search.empty()) json["notes"].push_back(record.search);
  json["machine"] = machine_json(record.machine);
  json["settings"] = settings_json(record, options);
  if (!record.measurement.differs.empty()) json["streams_differ"] = record.measurement.differs;
  json["exit_code"] = record.exit_code();
  return line_of(json);
}

std::string json_error(const std::string& fault, const std::string& message, const ErrorPlace& place,
                       int exit_code) {
  Json json = start_of_record();
  json["error"] = {{"fault", fault}, {"message", message}};
  if (!place.input.empty()) json["error"]["input"] = place.input;
  if (!place.node.empty()) json["error"]["node"] = place.node;
  if (!place.op.empty()) json["error"]["op"] = place.op;
  json["exit_code"] = exit_code;
  return line_of(json);
}

std::string profile_json(const std::vector<StepProfile>& steps, size_t runs) {
  Json json = start_of_record();
  json["runs"] = runs;
  json["kernels"] = steps_json(steps, runs);
  return line_of(json);
}

std::string chrome_trace(const std::vector<StepProfile>& steps) {
  Json events = Json::array();
  for (const StepProfile& step : steps) {
    if (step.runs == 0) continue;
    events.push_back({{"name", step.op},
                      {"cat", "step"},
                      {"ph", "X"},
                      {"ts", step.start_us},
                      {"dur", step.last_us},
                      {"pid", 1},
                      {"tid", 1},
                      {"args", {{"node", step.name}, {"kernel", step.kernel}, {"shape", step.shape}}}});
  }
  return line_of({{"displayTimeUnit", "ns"}, {"traceEvents", std::move(events)}});
}

}  // namespace axrun::cli
