#include "ir/carried_unchanged.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace axrun::ir {
namespace {

/// Of a Loop's inputs the trip count and the condition, of its body's the iteration number and the condition;
/// of its body's outputs the condition.
constexpr size_t inputs_before = 2, outputs_before = 1;

Attribute* body_of_loop(Node& node) {
  if (node.op != "Loop" || !node.domain.empty() || node.inputs.size() <= inputs_before) return nullptr;
  const auto body = node.attributes.find("body");
  if (body == node.attributes.end() || !body->second.graph) return nullptr;
  const size_t carried = node.inputs.size() - inputs_before;
  const Graph& graph = *body->second.graph;
  const bool is_sound =
      graph.inputs.size() == carried + inputs_before && graph.outputs.size() >= carried + outputs_before;
  return is_sound ? &body->second : nullptr;
}

/// The reads of `from`, in the graph and in what its bodies capture.
void replace_reads(Graph& graph, ValueId from, ValueId to) {
  for (Node& node : graph.nodes) {
    std::replace(node.inputs.begin(), node.inputs.end(), from, to);
    const auto recapture = [&](std::shared_ptr<Graph>& body) {
      const auto reads = [&](const auto& capture) { return capture.first == from; };
      if (std::none_of(body->captures.begin(), body->captures.end(), reads)) return;
      // Bodies are shared between the copies of a graph.
      body = std::make_shared<Graph>(*body);
      for (auto& capture : body->captures) {
        if (reads(capture)) capture.first = to;
      }
    };
    for (auto& [name, attribute] : node.attributes) {
      if (attribute.graph) recapture(attribute.graph);
      for (auto& body : attribute.graphs) recapture(body);
    }
  }
  std::replace(graph.outputs.begin(), graph.outputs.end(), from, to);
}

/// The value that an output is, whatever names Identity gives it on the way: bodies don't know the types of
/// what they carry, so that these may still be there.
ValueId origin_of(const Graph& body, ValueId id) {
  for (auto node = body.nodes.rbegin(); node != body.nodes.rend(); ++node) {
    const bool passes_on = node->op == "Identity" && node->domain.empty() && !node->inputs.empty();
    if (passes_on && !node->outputs.empty() && node->outputs[0] == id) id = node->inputs[0];
  }
  return id;
}

template <class List>
void erase_at(List& list, size_t place) {
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(place));
}

}  // namespace

int capture_carried_unchanged(Graph& graph) {
  int found = 0;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    Node& node = graph.nodes[n];
    Attribute* const attribute = body_of_loop(node);
    if (attribute == nullptr) continue;
    std::vector<std::pair<ValueId, ValueId>> results;
    std::shared_ptr<Graph> changed;
    for (size_t k = node.inputs.size() - inputs_before; k-- > 0;) {
      const Graph& body = changed ? *changed : *attribute->graph;
      const ValueId begin = node.inputs[k + inputs_before];
      const ValueId inner = body.inputs[k + inputs_before];
      if (begin == absent || origin_of(body, body.outputs[k + outputs_before]) != inner) continue;
      if (!changed) changed = std::make_shared<Graph>(body);
      changed->captures.emplace_back(begin, inner);
      erase_at(changed->inputs, k + inputs_before);
      erase_at(changed->outputs, k + outputs_before);
      erase_at(node.inputs, k + inputs_before);
      if (k >= node.outputs.size()) continue;
      if (node.outputs[k] != absent) results.emplace_back(node.outputs[k], begin);
      erase_at(node.outputs, k);
    }
    if (!changed) continue;
    found += static_cast<int>(changed->captures.size() - attribute->graph->captures.size());
    attribute->graph = std::move(changed);
    for (const auto& [result, begin] : results) replace_reads(graph, result, begin);
  }
  return found;
}

}  // namespace axrun::ir
