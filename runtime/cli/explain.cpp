#include "runtime/cli/explain.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "jit/calibrate.h"
#include "onnx_import/input_file.h"
#include "runtime/cli/explanation.h"
#include "runtime/cli/json_text.h"
#include "runtime/cli/run_model.h"
#include "runtime/cli/watchdog.h"
#include "runtime/host_target.h"

namespace axrun::cli {
namespace {

constexpr double standard_explain_s = 10;
/// Of runs whose steps are timed, after those that tell what a run takes.
constexpr double profiled_s = 1;
constexpr int fewest_profiled_runs = 5, most_profiled_runs = 1000;
/// They are timed in so many parts at most; of each step the fastest counts: whatever else the machine does
/// only ever slows it.
constexpr int most_parts = 10;

bool same_steps(const std::vector<runtime::StepProfile>& a, const std::vector<runtime::StepProfile>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.name == y.name && x.op == y.op && x.kernel == y.kernel && x.runs == y.runs;
  });
}

/// Of so many runs in all; `runs` becomes those that the times are of.
std::vector<runtime::StepProfile> fastest_steps(runtime::Session& session,
                                                const std::vector<runtime::RuntimeValue>& inputs, int& runs) {
  const int parts = std::min(runs, most_parts);
  runs /= parts;
  std::vector<runtime::StepProfile> steps = session.profile_runs(inputs, runs);
  for (int part = 1; part < parts; ++part) {
    std::vector<runtime::StepProfile> again = session.profile_runs(inputs, runs);
    if (!same_steps(steps, again)) continue;
    for (size_t k = 0; k < steps.size(); ++k) {
      if (again[k].own_us() < steps[k].own_us()) steps[k] = std::move(again[k]);
    }
  }
  return steps;
}

}  // namespace

int explain_model(const Options& given, Clock::time_point process_start, Watchdog& watchdog) {
  Options options = given;
  if (!options.budget) options.budget = standard_explain_s;
  Progress progress(!options.quiet);
  MeasuredModel model = measured_model(options, process_start, progress);
  add_notes(model.record);
  progress.show("timing every step");
  const double run_s = std::max(model.record.latency.p50, 1e-3) / 1e3;
  int runs = static_cast<int>(std::clamp(profiled_s / run_s, static_cast<double>(fewest_profiled_runs),
                                         static_cast<double>(most_profiled_runs)));
  const auto steps = fastest_steps(*model.session, model.inputs.values, runs);
  const jit::Target target = jit::calibrated(runtime::host_target());
  progress.clear();
  Explanation whole = explain(std::move(model.record), target, steps, runs,
                              work_of(*model.session, model.inputs.values, target));
  whole.splits = splits_of(*model.session, model.inputs.values, options);
  const Explanation explanation = about(whole, options.nodes);
  watchdog.stop();
  if (!options.html.empty()) onnx_import::write_whole_file(options.html, explanation_page(whole));
  if (options.json) std::fputs(line_of(explanation_json(explanation)).c_str(), stdout);
  if (!options.quiet)
    std::fputs(explanation_text(explanation, !options.nodes.empty()).c_str(), options.json ? stderr : stdout);
  return exit_ok;
}

}  // namespace axrun::cli
