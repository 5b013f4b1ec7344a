#include "runtime/cli/measure.h"

#include <fmt/format.h>

#include <algorithm>

namespace axrun::cli {

using runtime::RuntimeValue;
using runtime::Session;

namespace {

constexpr double standard_seconds = 1.0;
constexpr int64_t standard_most_runs = 1000;

bool plain(const std::vector<RuntimeValue>& values) {
  return std::all_of(values.begin(), values.end(), [](const RuntimeValue& value) {
    return value.kind == ir::ValueKind::tensor && value.tensor.defined() &&
           value.type != ir::ElementType::string;
  });
}

/// Calls the session in the fastest way that its values allow.
class Runner {
 public:
  Runner(Session& session, const std::vector<RuntimeValue>& inputs) : session_(session), inputs_(inputs) {}

  void first() { outputs_ = session_.run(inputs_); }

  /// From now on outputs are written where the first run's are, copied to memory of their own: the first run
  /// may have answered with a constant of the model.
  void bind() {
    if (!plain(inputs_) || !plain(outputs_)) return;
    for (const RuntimeValue& value : inputs_) bound_inputs_.push_back(value.tensor);
    for (const RuntimeValue& value : outputs_) bound_outputs_.push_back(value.tensor.clone());
    bound_ = true;
  }

  double timed_ms() {
    const Clock::time_point start = Clock::now();
    if (bound_) {
      session_.run_into(bound_inputs_, bound_outputs_);
    } else {
      outputs_ = session_.run(inputs_);
    }
    return milliseconds_since(start);
  }

  bool bound() const { return bound_; }

  std::vector<RuntimeValue> take_outputs() {
    if (bound_) outputs_.assign(bound_outputs_.begin(), bound_outputs_.end());
    return std::move(outputs_);
  }

 private:
  Session& session_;
  const std::vector<RuntimeValue>& inputs_;
  std::vector<RuntimeValue> outputs_;
  std::vector<ir::Tensor> bound_inputs_, bound_outputs_;
  bool bound_ = false;
};

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
  result.bound = runner.bound() && (result.times_ms.size() > 1 || result.warmup_runs > 0);
  result.outputs = runner.take_outputs();
  return result;
}

}  // namespace axrun::cli
