#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "jit/target_file.h"
#include "runtime/cli/explanation.h"
#include "runtime/cli/forms_report.h"
#include "runtime/cli/json_text.h"
#include "runtime/cli/optimiser_report.h"
#include "runtime/version.h"

namespace axrun::cli {

using Json = nlohmann::ordered_json;
using runtime::OptimizedKernel;

namespace {

/// Changes when a member changes its meaning or goes away; new members do not count.
constexpr int explanation_schema = 1;

/// What was not measured, or not expected of it.
Json positive(double value) { return value > 0 ? number(value) : Json(nullptr); }

Json trial_json(const runtime::TriedKernel& trial) {
  return {{"rank", trial.rank},
          {"kind", trial.kind},
          {"schedule", trial.schedule},
          {"end", runtime::name_of(trial.end)},
          {"reason", trial.reason},
          {"expected_us", positive(trial.expected_us)},
          {"us", positive(trial.own_us)},
          {"present_us", positive(trial.present_us)},
          {"speedup", positive(trial.speedup)},
          {"rounds", trial.rounds},
          {"proof", trial.proof},
          {"gate", trial.gate}};
}

Json kernel_json(const OptimizedKernel& kernel) {
  Json trials = Json::array();
  for (const runtime::TriedKernel& trial : kernel.trials) trials.push_back(trial_json(trial));
  return {{"ops", kernel.ops},
          {"schedule", kernel.kind},
          {"state", runtime::name_of(kernel.state)},
          {"reason", kernel.reason},
          {"sizes", kernel.sizes},
          {"tested", kernel.tested},
          {"served", kernel.served},
          {"steps", kernel.steps},
          {"proof", kernel.proof},
          {"gate", kernel.gate},
          {"from_cache", kernel.from_cache},
          {"rank", kernel.rank},
          {"alternatives", kernel.alternatives},
          {"alternatives_tried", kernel.alternatives_tried},
          {"speedup", positive(kernel.speedup)},
          {"trials", std::move(trials)}};
}

Json kernels_json(const std::vector<OptimizedKernel>& kernels) {
  Json list = Json::array();
  for (const OptimizedKernel& kernel : kernels) list.push_back(kernel_json(kernel));
  return list;
}

/// What a call executes, and in how many microseconds the ports that it is for can do so; null where nothing
/// is known of the kernel.
Json work_json(const ExplainedStep& step, const jit::Target& target) {
  if (!step.work) return nullptr;
  const jit::WorkCount& work = *step.work;
  const jit::PortCycles cycles = jit::port_cycles(work, target);
  const double cycles_per_us = jit::cycles_per_second(target) / 1e6;
  const auto us = [&](double count) {
    return cycles_per_us > 0 ? number(count / cycles_per_us) : Json(nullptr);
  };
  Json beyond = Json::array();
  for (size_t k = 0; k < work.missed_bytes.size(); ++k) {
    const bool last = k + 1 == target.caches.size();
    const double speed = last ? target.memory_bytes_per_second : target.caches[k + 1].bytes_per_second;
    // What fits may be there from the run before.
    const bool surely = work.missed_bytes[k] > static_cast<double>(target.caches[k].bytes);
    beyond.push_back(
        {{"from", last ? "memory" : fmt::format("cache {}", k + 2)},
         {"bytes", work.missed_bytes[k]},
         {"us", speed > 0 && surely ? number(work.missed_bytes[k] / speed * 1e6) : Json(nullptr)}});
  }
  return {{"multiply_adds", work.multiply_adds},
          {"operations", work.operations},
          {"functions", work.functions},
          {"scalar_operations", work.scalar_operations},
          {"lanes", work.lanes},
          {"filled_lanes", work.filled_lanes},
          {"loads", work.loads},
          {"stores", work.stores},
          {"apart_lanes", work.apart_lanes},
          {"bytes_loaded", work.bytes_loaded},
          {"bytes_stored", work.bytes_stored},
          {"moved_bytes", work.moved_bytes},
          {"beyond", std::move(beyond)},
          {"phases", work.phases},
          {"us",
           {{"arithmetic", us(cycles.arithmetic)},
            {"memory", us(cycles.memory)},
            {"apart", us(cycles.apart)},
            {"scalar", us(cycles.scalar)},
            {"chain", us(work.chain_cycles)}}}};
}

Json step_json(const ExplainedStep& step, const jit::Target& target) {
  const double calls = static_cast<double>(step.profile.runs);
  const double us_per_call = step.profile.own_us() / calls;
  return {{"node", step.profile.name},
          {"ops", step.profile.op},
          {"result", step.profile.shape},
          {"kernel", step.profile.kernel},
          {"evidence", step.profile.proof},
          {"us", step.us},
          {"share", step.share},
          {"flops_per_s", us_per_call > 0 ? number(step.profile.flops / us_per_call * 1e6) : Json(nullptr)},
          {"bytes_per_s", us_per_call > 0 ? number(step.profile.bytes / us_per_call * 1e6) : Json(nullptr)},
          {"limit_us", positive(step.limit.us)},
          {"limit_by", step.limit.by},
          {"limit_share", step.us > 0 ? positive(step.limit.us / step.us) : Json(nullptr)},
          {"calls", step.calls},
          {"flops", step.profile.flops},
          {"bytes", step.profile.bytes},
          {"constant_bytes", step.profile.constant_bytes},
          {"work", work_json(step, target)},
          {"kernels", kernels_json(step.kernels)},
          {"lost_joints", kernels_json(step.lost_joints)}};
}

}  // namespace

Json explanation_json(const Explanation& explanation) {
  const Record& record = explanation.record;
  const Optimisation& optimisation = record.measurement.optimisation;
  Json latency = Json::array();
  for (const Optimisation::Sample& sample : optimisation.samples)
    latency.push_back({sample.seconds, sample.ms});
  Json steps = Json::array();
  for (const ExplainedStep& step : explanation.steps) steps.push_back(step_json(step, explanation.target));
  Json splits = Json::array();
  for (const ExplainedSplit& split : explanation.splits)
    splits.push_back({{"name", split.name},
                      {"of", split.of},
                      {"standing", split.standing},
                      {"places", split.places},
                      {"state", split.state}});
  Json optimiser = optimiser_json(optimisation);
  optimiser.erase("kernels");  // every step has its own
  return {{"schema_version", explanation_schema},
          {"version", runtime::version()},
          {"build", runtime::build_text()},
          {"model", record.model},
          {"inputs", record.inputs},
          {"threads", record.threads},
          {"cpu", record.machine.cpu},
          {"limits", Json::parse(jit::print_target(explanation.target))},
          {"run_us", explanation.run_us},
          {"limit_us", explanation.limit_us},
          {"latency_ms", record.latency.p50},
          {"latency_over_time", std::move(latency)},
          {"splits", std::move(splits)},
          {"steps", std::move(steps)},
          {"plans", forms_json(record.forms)},
          {"optimiser", std::move(optimiser)},
          {"notes", record.notes}};
}

}  // namespace axrun::cli
