// How often the optimiser would take a kernel for faster than itself: A/A runs of its comparison.
//
// Every step of a model's plan is compared with itself, as the optimiser compares a candidate with the kernel
// in force (runtime/optimizer/comparison.h), again and again. One that is called faster would have been
// swapped in for nothing. With --plans the whole plan is compared with another build of it, as before a swap:
// one that is called slower, twice in a row, would have been blamed for nothing. The answer is one JSON
// object; `most` is the upper end of the two-sided 95% interval of the share (Clopper and Pearson, 1934).
#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cmath>
#include <exception>
#include <string>
#include <vector>

#include "perf/axrun_values.h"
#include "perf/host/inputs.h"
#include "perf/host/json.h"
#include "perf/host/options.h"
#include "perf/host/tool_main.h"
#include "runtime/optimizer/comparison.h"
#include "runtime/optimizer/plan_comparison.h"
#include "runtime/plan/packed.h"
#include "runtime/session.h"

namespace axrun::perf {
namespace {

using runtime::Background;
using runtime::Plan;
using runtime::Ratio;
using runtime::Step;
using runtime::StopSignal;

constexpr const char* help =
    "usage: false_swaps MODEL.onnx [--data DIR] [--shape NAME:1x3x..] [--dim NAME=N] [--seed N] [--threads "
    "N]\n"
    "                   [--comparisons N] [--share PERCENT] [--plans 1]\n"
    "\n"
    "Compares every step of the model's plan with itself, N comparisons in all (500), and prints how many "
    "were\n"
    "called faster by the share that the optimiser asks for (2). --plans 1: compares the whole plan with "
    "another\n"
    "build of it instead, and `most` is of those that were called slower twice in a row.\n";

struct Found {
  int comparisons = 0, faster = 0, slower = 0, steps = 0;
  double farthest = 0;  ///< of medians from 1
  double seconds = 0;
};

/// The largest share at which so few of so many or fewer have a chance of at least `chance`.
double most_of(int found, int of, double chance) {
  if (found >= of) return 1;
  const auto log_choose = [&](int k) {
    return std::lgamma(of + 1.0) - std::lgamma(k + 1.0) - std::lgamma(of - k + 1.0);
  };
  double low = 0, high = 1;
  constexpr int halvings = 60;
  for (int step = 0; step < halvings; ++step) {
    const double share = (low + high) / 2;
    double sum = 0;
    for (int k = 0; k <= found; ++k)
      sum += std::exp(log_choose(k) + k * std::log(share) + (of - k) * std::log1p(-share));
    (sum >= chance ? low : high) = share;
  }
  return low;
}

std::vector<runtime::RuntimeValue> inputs_of(const runtime::Session& session, const Options& options) {
  const std::vector<InputDeclaration> declared = declarations_of(session);
  const std::vector<Tensor> tensors = options.data.empty()
                                          ? make_up_inputs(declared, options.choices, options.seed)
                                          : read_inputs(options.data, declared);
  std::vector<runtime::RuntimeValue> inputs;
  for (const Tensor& tensor : tensors) inputs.emplace_back(to_axrun(tensor).clone());
  return inputs;
}

std::shared_ptr<const Plan> plan_of(const runtime::Session& session,
                                    const std::vector<runtime::RuntimeValue>& inputs, int threads) {
  std::vector<ir::ValueFact> facts(inputs.size());
  for (size_t k = 0; k < inputs.size(); ++k) {
    const ir::Tensor& tensor = inputs[k].tensor;
    facts[k].type = tensor.type();
    facts[k].dims.emplace(tensor.shape().begin(), tensor.shape().end());
  }
  runtime::PlanOptions how;
  how.threads = threads;
  how.packs = std::make_shared<runtime::PackCache>();
  const auto& graph = session.model().graph;
  return runtime::build_plan(graph, graph->inputs, facts, how);
}

Found compare(const Plan& plan, int comparisons, double share, const Background::Place& place) {
  const auto begin = std::chrono::steady_clock::now();
  std::vector<const Step*> steps;
  for (const Step& step : plan.steps()) {
    if (step.kernel) steps.push_back(&step);
  }
  Found found;
  found.steps = static_cast<int>(steps.size());
  for (int k = 0; k < comparisons && !steps.empty() && !place.stop.requested(); ++k) {
    const Step& step = *steps[static_cast<size_t>(k) % steps.size()];
    runtime::KernelComparison one(plan, {{&step, step.kernel}}, {&step, step.kernel}, {}, place.pool);
    one.difference();  // as there: both have been called before they are timed
    const Ratio ratio = one.times(place.background, place.stop);
    ++found.comparisons;
    found.faster += ratio.second_is_faster(share) ? 1 : 0;
    found.slower += ratio.second_is_slower(share) ? 1 : 0;
    found.farthest = std::max(found.farthest, std::abs(ratio.median - 1));
  }
  found.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return found;
}

Found compare_plans(const Plan& plan, const Plan& other, const std::vector<runtime::RuntimeValue>& inputs,
                    int threads, int comparisons, double share, const Background::Place& place) {
  const auto begin = std::chrono::steady_clock::now();
  Found found;
  for (int k = 0; k < comparisons && !place.stop.requested(); ++k) {
    const auto compared = [&] { return runtime::compare_plans(plan, other, inputs, threads, share, place); };
    Ratio ratio = compared();
    if (ratio.second_is_slower(share)) ratio = compared();  // as there
    ++found.comparisons;
    found.faster += ratio.second_is_faster(share) ? 1 : 0;
    found.slower += ratio.second_is_slower(share) ? 1 : 0;
    found.farthest = std::max(found.farthest, std::abs(ratio.median - 1));
  }
  found.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return found;
}

double number_in(const Options& options, const std::string& name, double otherwise) {
  const auto given = options.engine.find(name);
  if (given == options.engine.end()) return otherwise;
  const std::string& text = given->second;
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || !(number > 0 && number < 1e6))
    throw HostError(HostError::user, "--" + name + ": '" + text + "' is no positive number");
  return number;
}

std::string result_json(const Options& options) {
  const int comparisons = static_cast<int>(number_in(options, "comparisons", 500));
  const double percent = number_in(options, "share", 2);
  runtime::SessionOptions settings;
  settings.tier = runtime::Tier::fallback;
  settings.threads = options.threads;
  const auto session = translated([&] { return runtime::Session::load(options.model, settings); });
  const std::vector<runtime::RuntimeValue> inputs = inputs_of(*session, options);
  const auto make = [&] { return plan_of(*session, inputs, options.threads); };
  const auto plan = translated(make);
  const bool plans = options.engine.count("plans") != 0;
  const auto other = plans ? translated(make) : plan;
  Found found;
  std::exception_ptr failure;
  std::atomic<bool> done{false};
  Background::Options where;
  where.threads = plans ? 1 : options.threads;
  Background background(where, [&](const Background::Place& place) {
    try {
      found = plans ? compare_plans(*plan, *other, inputs, options.threads, comparisons, percent / 100, place)
                    : compare(*plan, comparisons, percent / 100, place);
    } catch (...) {
      failure = std::current_exception();
    }
    done = true;
    done.notify_all();
  });
  background.start();
  done.wait(false);
  background.stop();
  if (failure) std::rethrow_exception(failure);
  constexpr double tail = 0.025;
  return JsonObject()
      .text("model", options.model)
      .number("threads", options.threads)
      .number("steps", found.steps)
      .number("comparisons", found.comparisons)
      .number("called_faster", found.faster)
      .number("called_slower", found.slower)
      .number("most", most_of(plans ? found.slower : found.faster, std::max(found.comparisons, 1), tail))
      .number("farthest_median", found.farthest)
      .number("seconds", found.seconds)
      .str();
}

}  // namespace
}  // namespace axrun::perf

int main(int argc, char** argv) {
  using namespace axrun::perf;
  return tool_main(argc, argv, "false_swaps", help,
                   {{"comparisons", "N", "in all"},
                    {"share", "PERCENT", "that counts"},
                    {"plans", "1", "compare whole plans"}},
                   result_json);
}
