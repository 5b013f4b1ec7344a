#include "ir/graph.h"

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

}  // namespace axrun::ir
