#include "runtime/optimizer/step_shares.h"

#include <numeric>
#include <set>

namespace axrun::runtime {
namespace {

/// What runs bodies has no nodes but the one that they are of.
std::vector<int> nodes_of(const Plan& plan, const Step& step) {
  if (!step.work->nodes.empty()) return step.work->nodes;
  const std::vector<ir::Node>& all = plan.graph().nodes;
  for (size_t n = 0; n < all.size(); ++n)
    if (&all[n] == step.work->node) return {static_cast<int>(n)};
  return {};
}

}  // namespace

double StepShares::of(const Plan& plan, const Step& step) const {
  const auto known = shares_.find(&plan.graph());
  if (known == shares_.end()) return 0;
  const std::vector<int> nodes = nodes_of(plan, step);
  return std::accumulate(nodes.begin(), nodes.end(), 0.0, [&](double sum, int node) {
    const auto share = known->second.find(node);
    return sum + (share == known->second.end() ? 0 : share->second);
  });
}

void StepShares::note(const TreeTimes& times) {
  const double total = times.total();
  std::set<const ir::Graph*> seen;
  for (const auto& [plan, microseconds] : times.plans()) {
    std::map<int, double>& shares = shares_[&plan->graph()];
    const bool again = !seen.insert(&plan->graph()).second;  // a body, run with other shapes
    for (size_t s = 0; s < plan->steps().size(); ++s) {
      const Step& step = plan->steps()[s];
      const std::vector<int> nodes = nodes_of(*plan, step);
      const double before = of(*plan, step);
      const double now = microseconds[s] / total + (again ? before : 0);
      for (const int node : nodes)
        shares[node] = before > 0 ? shares[node] * now / before : now / static_cast<double>(nodes.size());
    }
  }
}

}  // namespace axrun::runtime
