#include "runtime/optimizer/step_finder.h"

#include <algorithm>

namespace axrun::runtime {

KernelSource::Found StepFinder::find(const ir::Graph& graph, const std::vector<int>& nodes,
                                     const StepContext& context) {
  if (&graph != &graph_ || std::find(sets_.begin(), sets_.end(), nodes) == sets_.end())
    return {nullptr, false};
  Step& step = found_[nodes];
  std::string ops;
  for (const ir::Node* member : context.group) ops += (ops.empty() ? "" : "+") + member->op;
  step.work = std::make_shared<const StepWork>(
      StepWork{&context.node, context.input_ids, context.output_ids, std::move(ops), nodes});
  return {nullptr, false};
}

std::vector<std::vector<int>> StepFinder::joined_groups(const ir::Graph& graph) {
  return &graph == &graph_ ? sets_ : std::vector<std::vector<int>>();
}

Joint joint_within(const Step& found, const Plan& apart) {
  const std::vector<int>& nodes = found.work->nodes;
  Joint joint{{}, found};
  StepWork work = *found.work;
  work.node = &apart.graph().nodes[static_cast<size_t>(nodes.front())];
  joint.step.work = std::make_shared<const StepWork>(std::move(work));
  for (size_t s = 0; s < apart.steps().size(); ++s) {
    const Step& step = apart.steps()[s];
    const auto inside =
        static_cast<size_t>(std::count_if(step.work->nodes.begin(), step.work->nodes.end(), [&](int node) {
          return std::binary_search(nodes.begin(), nodes.end(), node);
        }));
    if (inside == 0) continue;
    if (!step.kernel || inside != step.work->nodes.size()) return {};
    joint.steps.push_back(s);
  }
  return joint.steps.size() < 2 ? Joint() : joint;
}

}  // namespace axrun::runtime
