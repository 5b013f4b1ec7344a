#include <nlohmann/json.hpp>

#include "jit/target_file.h"
#include "runtime/cli/explanation.h"
#include "runtime/cli/json_text.h"
#include "runtime/cli/optimiser_report.h"
#include "runtime/version.h"

namespace axrun::cli {

using Json = nlohmann::ordered_json;
using runtime::OptimizedKernel;

namespace {

/// Changes when a member changes its meaning or goes away; new members do not count.
constexpr int schema_version = 1;

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
          {"steps", kernel.steps},
          {"proof", kernel.proof},
          {"gate", kernel.gate},
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

Json step_json(const ExplainedStep& step) {
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
  for (const ExplainedStep& step : explanation.steps) steps.push_back(step_json(step));
  Json optimiser = optimiser_json(optimisation);
  optimiser.erase("kernels");  // every step has its own
  return {{"schema_version", schema_version},
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
          {"steps", std::move(steps)},
          {"optimiser", std::move(optimiser)},
          {"notes", record.notes}};
}

}  // namespace axrun::cli
