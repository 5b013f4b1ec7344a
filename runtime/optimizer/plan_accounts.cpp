// Which kernels do the steps of the plans in force: the part of PlanImprover that has the records say it.
#include <set>
#include <tuple>

#include "runtime/optimizer/plan_improver.h"

namespace axrun::runtime {

void PlanImprover::add_steps(const Plan& plan, std::vector<ServedStep>& steps) const {
  for (const Step& step : plan.steps()) {
    KernelLibrary::Served served;
    served.ops = step.work->ops;
    served.node = step.work->node->name;
    served.share = shares_.of(plan, step);
    served.has_kernel = step.kernel != nullptr;
    if (!step.kernel || step.work->nodes.empty()) {
      served.reason = step.bodies ? "it runs its bodies" : "its results have no fixed shapes";
    } else if (std::optional<KernelLibrary::Place> place = library_->known_place(plan, step)) {
      if (place->entry) served.entry = library_->serving_entry(place->entry, place->sizes);
      served.reason = std::move(place->reason);
    } else {
      continue;  // of a body that nobody has looked at
    }
    steps.push_back({plan.shared_graph(), step.work->nodes, std::move(served)});
  }
  for (const NestedPlan& nested : latest_nested(plan)) add_steps(*nested.plan, steps);
}

void PlanImprover::account(const Plan& plan, const std::vector<ir::Shape>& shapes) {
  const StepCount count = count_steps(plan);
  board_.update([&](OptimizerStatus& status) {
    status.steps = count.kernels;
    status.swapped = count.generated;
  });
  std::vector<ServedStep>& own = accounts_[shapes];
  own.clear();
  add_steps(plan, own);
  std::erase_if(accounts_,
                [&](const auto& one) { return one.first != shapes && !host_.plans->current(one.first); });
  // Steps of one graph are counted once for each kernel that does them, whatever the shapes.
  std::set<std::tuple<const ir::Graph*, std::vector<int>, const KernelLibrary::Entry*>> counted;
  std::vector<KernelLibrary::Served> all;
  const auto take = [&](const std::vector<ServedStep>& steps) {
    for (const ServedStep& one : steps)
      if (one.nodes.empty() || counted.insert({one.graph.get(), one.nodes, one.step.entry.get()}).second)
        all.push_back(one.step);
  };
  take(own);
  for (const auto& [others, steps] : accounts_)
    if (others != shapes) take(steps);
  library_->account(all);
}

}  // namespace axrun::runtime
