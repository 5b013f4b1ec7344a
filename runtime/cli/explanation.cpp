#include "runtime/cli/explanation.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ir/error.h"
#include "runtime/optimizer/jit_kernel.h"
#include "runtime/plan/plan.h"

namespace axrun::cli {

using runtime::OptimizedKernel;
using runtime::StepProfile;

namespace {

/// Names that a mistake is told together with.
constexpr size_t most_names = 8;

bool has_node(const OptimizedKernel& kernel, const std::string& node) {
  return std::find(kernel.nodes.begin(), kernel.nodes.end(), node) != kernel.nodes.end();
}

/// Steps and records are known to each other by their first node and their operators.
std::vector<OptimizedKernel> kernels_of(const StepProfile& step, const std::vector<OptimizedKernel>& all) {
  std::vector<OptimizedKernel> found;
  for (const OptimizedKernel& kernel : all) {
    if (kernel.ops == step.op && has_node(kernel, step.name)) found.push_back(kernel);
  }
  std::stable_partition(found.begin(), found.end(), [](const OptimizedKernel& kernel) {
    return kernel.state == OptimizedKernel::State::accepted && kernel.steps > 0;
  });
  return found;
}

std::vector<OptimizedKernel> joints_of(const StepProfile& step, const std::vector<OptimizedKernel>& all) {
  std::vector<OptimizedKernel> found;
  for (const OptimizedKernel& kernel : all) {
    if (has_node(kernel, step.name)) found.push_back(kernel);
  }
  return found;
}

}  // namespace

StepWork work_of(runtime::Session& session, const std::vector<runtime::RuntimeValue>& inputs,
                 const jit::Target& target) {
  StepWork found;
  std::vector<ir::Shape> shapes;
  for (const runtime::RuntimeValue& value : inputs) {
    if (value.kind != ir::ValueKind::tensor) return found;
    shapes.push_back(value.tensor.shape());
  }
  const std::shared_ptr<const runtime::Plan> plan = session.current_plan(shapes);
  if (!plan) return found;
  for (const runtime::Step& step : plan->steps()) {
    const auto* const kernel = dynamic_cast<const runtime::JitKernel*>(step.kernel.get());
    const auto work = kernel != nullptr ? kernel->work(target) : std::nullopt;
    if (work) found[{step.work->node->name, step.work->ops}] += *work;
  }
  return found;
}

Explanation explain(Record record, const jit::Target& target, const std::vector<StepProfile>& steps, int runs,
                    const StepWork& work) {
  Explanation result;
  const runtime::OptimizerStatus& status = record.measurement.optimisation.status;
  const Limits limits(target, record.threads, steps);
  for (const StepProfile& step : steps) {
    if (step.runs == 0) continue;
    ExplainedStep one;
    one.profile = step;
    one.us = step.own_us() / std::max(runs, 1);
    const auto calls = static_cast<double>(step.runs);
    one.limit = limits.of(step, step.own_us() / calls);
    one.calls = calls / std::max(runs, 1);
    one.limit.us *= one.calls;
    const auto counted = work.find({step.name, step.op});
    if (counted != work.end()) one.work = counted->second;
    one.kernels = kernels_of(step, status.kernels);
    one.lost_joints = joints_of(step, status.lost_joints);
    result.run_us += one.us;
    result.limit_us += one.limit.us;
    result.steps.push_back(std::move(one));
  }
  for (ExplainedStep& step : result.steps) step.share = result.run_us > 0 ? step.us / result.run_us : 0;
  result.record = std::move(record);
  result.target = target;
  return result;
}

Explanation about(Explanation explanation, const std::vector<std::string>& nodes) {
  if (nodes.empty()) return explanation;
  const std::vector<ExplainedStep> all = std::move(explanation.steps);
  std::vector<bool> wanted(all.size());
  for (const std::string& node : nodes) {
    const auto mark = [&](auto is_meant) {
      bool any = false;
      for (size_t k = 0; k < all.size(); ++k) {
        if (!is_meant(all[k].profile.name)) continue;
        wanted[k] = any = true;
      }
      return any;
    };
    if (mark([&](const std::string& name) { return name == node; })) continue;
    if (mark([&](const std::string& name) { return name.find(node) != std::string::npos; })) continue;
    std::string names;
    for (size_t k = 0; k < std::min(all.size(), most_names); ++k)
      names += fmt::format("{}'{}'", k == 0 ? "" : ", ", all[k].profile.name);
    throw Error(Fault::user, fmt::format("no step begins with a node '{}'; steps begin with {}{}", node,
                                         names, all.size() > most_names ? ", ..." : ""));
  }
  explanation.steps.clear();
  for (size_t k = 0; k < all.size(); ++k) {
    if (wanted[k]) explanation.steps.push_back(all[k]);
  }
  return explanation;
}

}  // namespace axrun::cli
