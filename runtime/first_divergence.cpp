#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "runtime/node_executor.h"
#include "runtime/run_control.h"
#include "runtime/session.h"
#include "runtime/session_state.h"

namespace axrun::runtime {
namespace {

/// Errors are beyond the tolerance, next to the largest magnitude of `want`.
bool differ(const ir::Tensor& want, const ir::Tensor& got, double tolerance, Divergence& divergence) {
  for (int64_t i = 0; i < want.size(); ++i) {
    const double w = want.get_real(i);
    const double g = got.get_real(i);
    if (std::isfinite(w)) divergence.scale = std::max(divergence.scale, std::fabs(w));
    if (w == g || (std::isnan(w) && std::isnan(g))) continue;
    const double error = std::fabs(w - g);
    divergence.max_error = std::max(divergence.max_error, std::isnan(error) ? HUGE_VAL : error);
  }
  return divergence.max_error > tolerance * std::max(divergence.scale, 0.01);
}

}  // namespace

/// This tier comes first: it is the fast one, and the reference, whose nodes may take minutes, then ends at
/// the node that is looked for.
DivergenceSearch Session::first_divergence(const std::vector<RuntimeValue>& inputs, double tolerance,
                                           const RunControl* control,
                                           const std::function<void(size_t nodes)>& agreed) {
  state_->check(inputs);
  const ir::Graph& graph = *state_->model.graph;
  std::map<std::string, ir::Tensor> results;  // of floats, by value name: nodes of the main graph only
  if (state_->options.tier != Tier::reference) {
    // Unfused, so that every node's result is there to be looked at.
    PlanOptions how = state_->plan_options();
    how.fuse = false;
    how.reuse_buffers = false;
    const std::shared_ptr<const Plan> plan = state_->build(inputs, how);
    std::vector<RuntimeValue> outputs(state_->outputs.size());
    plan->run_inspected(inputs, outputs, {.pool = *state_->pool, .control = control},
                        [&](const Step& step, size_t k, const ir::Tensor& got) {
                          if (ir::is_float(got.type()))
                            results.emplace(graph.value(step.work->outputs[k]).name, got.clone());
                        });
  }

  DivergenceSearch search;
  RunControl found;
  size_t nodes = 0;
  ReferenceExecutor executor(*state_->pool);
  executor.set_observer(
      [&](const ir::Graph& where, const ir::Node& node, const std::vector<RuntimeValue>& wants, double) {
        if (control != nullptr) control->check();
        if (&where != &graph) return;
        for (size_t k = 0; k < node.outputs.size() && k < wants.size(); ++k) {
          if (node.outputs[k] == ir::absent) continue;
          const std::string& name = graph.value(node.outputs[k]).name;
          const auto got = results.find(name);
          const ir::Tensor& want = wants[k].tensor;
          if (got == results.end() || want.shape() != got->second.shape()) continue;
          Divergence divergence{node.name, node.op, name, 0, 0};
          if (differ(want, got->second, tolerance, divergence)) {
            search.first = divergence;
            found.cancel();
            found.check();
          }
          results.erase(got);
        }
        ++nodes;
        if (agreed) agreed(nodes);
      });
  try {
    for (const RuntimeValue& output : executor.run(graph, inputs, {}))
      search.reference.push_back(narrowed(output));
  } catch (const RunEnded&) {
    if (!search.first) throw;
  }
  return search;
}

}  // namespace axrun::runtime
