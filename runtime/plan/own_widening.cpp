#include "runtime/plan/own_widening.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace axrun::runtime {

using ir::Node;
using ir::ValueId;

namespace {

/// f32 of bytes, by parameters that are known.
bool widens_bytes(const ir::Graph& graph, const Node& node) {
  if (node.op != "DequantizeLinear" || node.inputs.empty() || node.outputs.size() != 1) return false;
  const ir::Value &bytes = graph.value(node.inputs[0]), &floats = graph.value(node.outputs[0]);
  const bool known = std::all_of(node.inputs.begin() + 1, node.inputs.end(), [&](ValueId id) {
    return id == ir::absent || graph.value(id).constant.defined();
  });
  return known && !bytes.constant.defined() && ir::is_integer(bytes.type) && ir::size_of(bytes.type) == 1 &&
         floats.type == ir::ElementType::f32;
}

}  // namespace

void give_readers_own_widening(ir::Graph& graph) {
  std::map<ValueId, Node> widening;  // by results
  std::set<ValueId> read;
  for (const Node& node : graph.nodes) {
    if (widens_bytes(graph, node)) widening.emplace(node.outputs[0], node);
    for (const auto* body : ir::bodies_of(node)) {
      for (const auto& capture : body->captures) read.insert(capture.first);
    }
  }
  if (widening.empty()) return;
  std::set<std::string> names;
  for (const Node& node : graph.nodes) names.insert(node.name);
  for (const ir::Value& value : graph.values) names.insert(value.name);
  const auto fresh = [&](const std::string& name) {
    for (int k = 1;; ++k) {
      std::string made = fmt::format("{}:{}", name, k);
      if (names.insert(made).second) return made;
    }
  };
  read.insert(graph.outputs.begin(), graph.outputs.end());
  std::vector<Node> nodes;
  for (Node& node : graph.nodes) {
    std::map<ValueId, ValueId> own;  // of this reader
    for (ValueId& id : node.inputs) {
      const auto known = widening.find(id);
      if (known == widening.end()) continue;
      if (own.count(id) == 0 && read.insert(id).second) own[id] = id;
      if (own.count(id) == 0) {
        Node copy = known->second;
        ir::Value value = graph.value(id);
        copy.name = fresh(copy.name);
        value.name = fresh(value.name);
        copy.outputs = {graph.add_value(std::move(value))};
        own[id] = copy.outputs[0];
        nodes.push_back(std::move(copy));
      }
      id = own[id];
    }
    nodes.push_back(std::move(node));
  }
  graph.nodes = std::move(nodes);
}

}  // namespace axrun::runtime
