#include "ir/graph.h"

#include <algorithm>

namespace axrun::ir {

ValueId Graph::add_value(Value value) {
  values.push_back(std::move(value));
  return static_cast<ValueId>(values.size()) - 1;
}

ValueId Graph::add_constant(std::string name, Tensor tensor) {
  Value value;
  value.name = std::move(name);
  value.type = tensor.type();
  value.dims = to_dims(tensor.shape());
  value.constant = std::move(tensor);
  return add_value(std::move(value));
}

std::vector<Graph*> bodies_of(Node& node) {
  std::vector<Graph*> bodies;
  for (auto& [name, attribute] : node.attributes) {
    if (attribute.graph) bodies.push_back(attribute.graph.get());
    for (const auto& graph : attribute.graphs) bodies.push_back(graph.get());
  }
  return bodies;
}

std::vector<const Graph*> bodies_of(const Node& node) {
  std::vector<const Graph*> bodies;
  for (const auto& [name, attribute] : node.attributes) {
    if (attribute.graph) bodies.push_back(attribute.graph.get());
    for (const auto& graph : attribute.graphs) bodies.push_back(graph.get());
  }
  return bodies;
}

std::vector<ValueId> reads_of(const Node& node) {
  std::vector<ValueId> reads;
  for (ValueId id : node.inputs) {
    if (id != absent) reads.push_back(id);
  }
  for (const Graph* body : bodies_of(node)) {
    for (const auto& [outer, inner] : body->captures) reads.push_back(outer);
  }
  return reads;
}

bool is_whole(const Graph& graph) {
  std::vector<bool> there(graph.values.size(), false);
  const auto make = [&](ValueId id) {
    const bool before = there[static_cast<size_t>(id)];
    there[static_cast<size_t>(id)] = true;
    return !before;
  };
  for (size_t id = 0; id < graph.values.size(); ++id) there[id] = graph.values[id].constant.defined();
  for (const ValueId id : graph.inputs) there[static_cast<size_t>(id)] = true;
  for (const auto& [outer, inner] : graph.captures) there[static_cast<size_t>(inner)] = true;
  const auto is_there = [&](ValueId id) { return there[static_cast<size_t>(id)]; };
  for (const Node& node : graph.nodes) {
    const std::vector<ValueId> reads = reads_of(node);
    if (!std::all_of(reads.begin(), reads.end(), is_there)) return false;
    for (const ValueId id : node.outputs) {
      // Weights that are widened are constants, with their nodes beside them.
      const bool folded = id != absent && graph.value(id).constant.defined();
      if (id != absent && !make(id) && !folded) return false;
    }
  }
  return std::all_of(graph.outputs.begin(), graph.outputs.end(), is_there);
}

}  // namespace axrun::ir
