// Failing models made smaller, one change after another for as long as they fail.
#include <algorithm>

#include "ir/error.h"
#include "runtime/node_executor.h"
#include "tests/fuzz/graphs/trial.h"

namespace axrun::tests {
namespace {

using ir::ValueId;
using runtime::RuntimeValue;

/// The model with a graph of its own.
GrownModel copy_of(const GrownModel& grown) {
  GrownModel copy = grown;
  copy.model.graph = std::make_shared<ir::Graph>(*grown.model.graph);
  return copy;
}

/// Every value of the main graph that the reference gets to.
std::vector<RuntimeValue> known_values(const GrownModel& grown) {
  const ir::Graph& graph = *grown.model.graph;
  std::vector<RuntimeValue> known(graph.values.size());
  const auto pool = runtime::ThreadPool::make(1);
  runtime::ReferenceExecutor executor(*pool);
  executor.set_observer(
      [&](const ir::Graph& where, const ir::Node& node, const std::vector<RuntimeValue>& results, double) {
        if (&where != &graph) return;
        for (size_t k = 0; k < node.outputs.size() && k < results.size(); ++k) {
          if (node.outputs[k] != ir::absent) known[static_cast<size_t>(node.outputs[k])] = results[k];
        }
      });
  try {
    executor.run(graph, grown.inputs, {});
  } catch (const Error&) {
    // Up to there.
  }
  return known;
}

/// Without what no result needs.
void drop_unread(GrownModel& grown) {
  ir::Graph& graph = *grown.model.graph;
  std::vector<bool> needed(graph.values.size(), false);
  const auto is_needed = [&](ValueId id) { return id != ir::absent && needed[static_cast<size_t>(id)]; };
  for (const ValueId id : graph.outputs) needed[static_cast<size_t>(id)] = true;
  for (size_t n = graph.nodes.size(); n-- > 0;) {
    const ir::Node& node = graph.nodes[n];
    if (std::none_of(node.outputs.begin(), node.outputs.end(), is_needed)) {
      graph.nodes.erase(graph.nodes.begin() + static_cast<std::ptrdiff_t>(n));
      continue;
    }
    for (const ValueId id : ir::reads_of(node)) needed[static_cast<size_t>(id)] = true;
  }
  for (size_t k = graph.inputs.size(); k-- > 0;) {
    if (is_needed(graph.inputs[k])) continue;
    const auto at = static_cast<std::ptrdiff_t>(k);
    graph.inputs.erase(graph.inputs.begin() + at);
    grown.inputs.erase(grown.inputs.begin() + at);
    if (k < grown.other_inputs.size()) grown.other_inputs.erase(grown.other_inputs.begin() + at);
  }
  for (size_t id = 0; id < graph.values.size(); ++id) {
    if (!needed[id]) graph.values[id].constant = {};
  }
}

/// The value becomes an input, or a constant, of what the reference computes for it.
void cut_off(GrownModel& grown, ValueId id, const RuntimeValue& known, bool as_constant) {
  ir::Graph& graph = *grown.model.graph;
  for (ir::Node& node : graph.nodes) std::replace(node.outputs.begin(), node.outputs.end(), id, ir::absent);
  graph.value(id).type = known.tensor.type();
  graph.value(id).dims = ir::to_dims(known.tensor.shape());
  if (as_constant) {
    graph.value(id).constant = known.tensor;
  } else {
    graph.inputs.push_back(id);
    grown.inputs.push_back(RuntimeValue(known.tensor));
    grown.other_inputs.clear();
  }
}

}  // namespace

GrownModel shrunk(GrownModel grown, const std::function<bool(const GrownModel&)>& fails) {
  const auto keep_if_failing = [&](GrownModel smaller) {
    drop_unread(smaller);
    if (smaller.model.graph->nodes.empty() || smaller.model.graph->outputs.empty() || !fails(smaller))
      return false;
    grown = std::move(smaller);
    return true;
  };
  keep_if_failing(copy_of(grown));
  for (size_t k = grown.model.graph->outputs.size(); k-- > 0;) {
    GrownModel smaller = copy_of(grown);
    smaller.model.graph->outputs = {grown.model.graph->outputs[k]};
    if (keep_if_failing(std::move(smaller))) break;
  }
  for (size_t k = grown.model.graph->outputs.size(); k-- > 0 && grown.model.graph->outputs.size() > 1;) {
    GrownModel smaller = copy_of(grown);
    smaller.model.graph->outputs.erase(smaller.model.graph->outputs.begin() + static_cast<std::ptrdiff_t>(k));
    keep_if_failing(std::move(smaller));
    k = std::min(k, grown.model.graph->outputs.size());
  }
  if (!grown.other_inputs.empty()) {
    GrownModel smaller = copy_of(grown);
    smaller.other_inputs.clear();
    keep_if_failing(std::move(smaller));
  }
  // Nodes, the last ones first: what they give is given instead.
  for (bool changed = true; changed;) {
    changed = false;
    const std::vector<RuntimeValue> known = known_values(grown);
    for (size_t n = grown.model.graph->nodes.size(); n-- > 0 && !changed;) {
      for (const ValueId id : grown.model.graph->nodes[n].outputs) {
        if (id == ir::absent || !known[static_cast<size_t>(id)].tensor.defined()) continue;
        const auto& outputs = grown.model.graph->outputs;
        if (std::find(outputs.begin(), outputs.end(), id) != outputs.end()) continue;
        for (const bool as_constant : {true, false}) {
          GrownModel smaller = copy_of(grown);
          cut_off(smaller, id, known[static_cast<size_t>(id)], as_constant);
          if (keep_if_failing(std::move(smaller))) {
            changed = true;
            break;
          }
        }
        if (changed) break;
      }
    }
  }
  for (size_t k = grown.model.graph->inputs.size(); k-- > 0;) {
    GrownModel smaller = copy_of(grown);
    smaller.model.graph->value(smaller.model.graph->inputs[k]).dims =
        ir::to_dims(grown.inputs[k].tensor.shape());
    smaller.other_inputs.clear();
    keep_if_failing(std::move(smaller));
    if (k >= grown.model.graph->inputs.size()) continue;
    smaller = copy_of(grown);
    const auto at = static_cast<std::ptrdiff_t>(k);
    const ValueId id = smaller.model.graph->inputs[k];
    smaller.model.graph->value(id).constant = grown.inputs[k].tensor;
    smaller.model.graph->inputs.erase(smaller.model.graph->inputs.begin() + at);
    smaller.inputs.erase(smaller.inputs.begin() + at);
    smaller.other_inputs.clear();
    keep_if_failing(std::move(smaller));
  }
  return grown;
}

}  // namespace axrun::tests
