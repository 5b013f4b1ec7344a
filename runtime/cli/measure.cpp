#include "runtime/cli/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "runtime/cli/latency.h"
#include "runtime/cli/runner.h"

namespace axrun::cli {

using runtime::RuntimeValue;
using runtime::Session;

namespace {

constexpr double standard_seconds = 1.0;
constexpr int64_t standard_most_runs = 1000;

double prepare_ms(Session& session, const std::vector<RuntimeValue>& inputs) {
  const bool tensors = std::all_of(inputs.begin(), inputs.end(), [](const RuntimeValue& value) {
    return value.kind == ir::ValueKind::tensor && value.tensor.defined();
  });
  if (!tensors) return 0;
  std::vector<ir::Shape> shapes;
  for (const RuntimeValue& value : inputs) shapes.push_back(value.tensor.shape());
  const Clock::time_point start = Clock::now();
  session.prepare(shapes);
  return milliseconds_since(start);
}

/// Timed runs one after another.
void repeat(Runner& runner, const Options& options, Progress& progress, Measurement& result) {
  const Clock::time_point start = Clock::now();
  const auto enough = [&] {
    const auto runs = static_cast<int64_t>(result.times_ms.size());
    if (options.runs) return runs >= *options.runs;
    if (runs == 0) return false;
    const double elapsed = milliseconds_since(start) + (result.warmup_runs == 0 ? result.first_ms : 0);
    if (options.seconds) return elapsed >= *options.seconds * 1e3;
    return elapsed >= standard_seconds * 1e3 || runs >= standard_most_runs;
  };
  while (!enough()) {
    result.times_ms.push_back(runner.timed_ms());
    if (progress.due()) {
      progress.show(
          fmt::format("{} runs in {:.1f} s", result.times_ms.size(), milliseconds_since(start) / 1e3));
    }
  }
}

/// Timed runs in streams of their own.
void run_side_by_side(Session& session, const std::vector<RuntimeValue>& inputs, const Options& options,
                      Progress& progress, Measurement& result) {
  const Until until{.runs = options.runs, .seconds = options.seconds.value_or(standard_seconds)};
  StreamRuns runs = run_streams(session, inputs, result.spread, until, progress);
  result.times_ms = std::move(runs.times_ms);
  result.runs_per_second = static_cast<double>(result.times_ms.size()) / runs.seconds;
  result.bound = runs.bound;
  result.differs = std::move(runs.differs);
  result.outputs = std::move(runs.outputs);
}

}  // namespace

Measurement measure(Session& session, const std::vector<RuntimeValue>& inputs, const Options& options,
                    Progress& progress) {
  Measurement result;
  Runner runner(session, inputs);
  const Clock::time_point begin = Clock::now();
  result.plan_ms = prepare_ms(session, inputs);
  runner.first();
  result.first_ms = milliseconds_since(begin);

  // The reference tier has nothing to warm up, and its runs are slow: its first run is the first timed one.
  const bool reference = session.tier() == runtime::Tier::reference;
  result.warmup_runs = options.warmup.value_or(reference ? 0 : 1);
  if (result.warmup_runs == 0) result.times_ms.push_back(result.first_ms);
  runner.bind();
  for (int64_t k = 1; k < result.warmup_runs; ++k) {
    runner.timed_ms();
    if (progress.due()) progress.show(fmt::format("warm-up run {} of {}", k + 1, result.warmup_runs));
  }
  if (options.budget.value_or(0) > 0) {
    result.optimisation = optimise(
        session, inputs, *options.budget, [&] { return runner.timed_ms(); }, progress);
    result.times_ms.clear();  // the first run, where it counted, was on other kernels
  }
  if (result.warmup_runs > 0 || result.optimisation.asked) session.reset_profile();
  result.spread = spread_of(options);
  if (options.mode == Options::Mode::throughput || options.pin) {
    run_side_by_side(session, inputs, options, progress, result);
    return result;
  }
  repeat(runner, options, progress, result);
  result.bound = runner.bound() && (result.times_ms.size() > 1 || result.warmup_runs > 0);
  result.outputs = runner.take_outputs();
  // One figure for what runs take now.
  if (result.optimisation.asked) result.optimisation.end_ms = latency_of(result.times_ms).p50;
  result.runs_per_second = 1e3 * static_cast<double>(result.times_ms.size()) /
                           std::accumulate(result.times_ms.begin(), result.times_ms.end(), 0.0);
  return result;
}

}  // namespace axrun::cli
