#include "runtime/cli/explain.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "jit/calibrate.h"
#include "onnx_import/mapped_file.h"
#include "runtime/cli/explanation.h"
#include "runtime/cli/json_text.h"
#include "runtime/cli/run_model.h"
#include "runtime/host_target.h"

namespace axrun::cli {
namespace {

constexpr double standard_budget_s = 10;
/// Of runs whose steps are timed, after those that tell what a run takes.
constexpr double profiled_s = 0.5;
constexpr int fewest_runs = 3, most_runs = 1000;

}  // namespace

int explain_model(const Options& given, Clock::time_point process_start) {
  Options options = given;
  if (!options.budget) options.budget = standard_budget_s;
  Progress progress(!options.quiet);
  MeasuredModel model = measured_model(options, process_start, progress);
  add_notes(model.record);
  progress.show("timing every step");
  const double run_s = std::max(model.record.latency.p50, 1e-3) / 1e3;
  const int runs = static_cast<int>(
      std::clamp(profiled_s / run_s, static_cast<double>(fewest_runs), static_cast<double>(most_runs)));
  const auto steps = model.session->profile_runs(model.inputs.values, runs);
  const jit::Target target = jit::calibrated(runtime::host_target());
  progress.clear();
  const Explanation whole = explain(std::move(model.record), target, steps, runs);
  const Explanation explanation = about(whole, options.nodes);
  if (!options.html.empty()) onnx_import::write_whole_file(options.html, explanation_page(whole));
  if (options.json) std::fputs(line_of(explanation_json(explanation)).c_str(), stdout);
  if (!options.quiet)
    std::fputs(explanation_text(explanation, !options.nodes.empty()).c_str(), options.json ? stderr : stdout);
  return exit_ok;
}

}  // namespace axrun::cli
