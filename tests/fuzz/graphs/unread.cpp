#include "tests/fuzz/graphs/unread.h"

#include <algorithm>

namespace axrun::tests {
namespace {

using ir::Graph;
using ir::Node;
using ir::ValueId;
using Values = std::vector<ValueId>;

/// By values: whether their elements are needed for the results.
using Needs = std::vector<bool>;
Needs needs_of(const Graph& graph, const Values& results);

/// Inputs and captures whose elements a node needs when it runs. What branches read may be needed.
Values needed_by(const Node& node) {
  if (node.op == "Shape" || node.op == "Size" || node.op == "EyeLike") return {};
  if (node.op == "CastLike") return {node.inputs[0]};
  Values needed = node.inputs;
  if (node.op == "If") return needed;
  for (const Graph* body : ir::bodies_of(node)) {
    const Needs inside = needs_of(*body, body->outputs);
    for (const auto& [outer, inner] : body->captures) {
      if (inside[static_cast<size_t>(inner)]) needed.push_back(outer);
    }
  }
  return needed;
}

bool runs(const Node& node, const Needs& needs) {
  return std::any_of(node.outputs.begin(), node.outputs.end(),
                     [&](ValueId id) { return id != ir::absent && needs[static_cast<size_t>(id)]; });
}

Needs needs_of(const Graph& graph, const Values& results) {
  Needs needs(graph.values.size(), false);
  for (const ValueId id : results) needs[static_cast<size_t>(id)] = true;
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    if (!runs(*node, needs)) continue;
    for (const ValueId id : needed_by(*node)) {
      if (id != ir::absent) needs[static_cast<size_t>(id)] = true;
    }
  }
  return needs;
}

/// What of a body is asked for: of a branch, only what the If hands on.
Values wanted_of(const Graph& body, const Node& node, const Needs& needs) {
  Values wanted = body.outputs;
  for (size_t k = 0; node.op == "If" && k < node.outputs.size(); ++k) {
    const ValueId id = node.outputs[k];
    if (id == ir::absent || !needs[static_cast<size_t>(id)]) std::erase(wanted, body.outputs[k]);
  }
  return wanted;
}

}  // namespace

bool is_unread(const Graph& graph, const Values& results, const std::string& refusal) {
  const Needs needs = needs_of(graph, results);
  for (const Node& node : graph.nodes) {
    if (refusal.find("'" + node.name + "'") == std::string::npos) continue;
    if (!runs(node, needs)) return true;
    const auto bodies = ir::bodies_of(node);
    return std::any_of(bodies.begin(), bodies.end(), [&](const Graph* body) {
      return is_unread(*body, wanted_of(*body, node, needs), refusal);
    });
  }
  return false;
}

}  // namespace axrun::tests
