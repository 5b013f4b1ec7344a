#include "tests/fuzz/graphs/unread.h"

#include <algorithm>
#include <memory>

namespace axrun::tests {
namespace {

using ir::Graph;
using ir::Node;
using ir::ValueId;
using Values = std::vector<ValueId>;

/// Whether the message of an error is of this node, or of what is in its bodies.
bool names(const std::string& refusal, const Node& node) {
  return refusal.find("'" + node.name + "'") != std::string::npos;
}

/// By values: whether their elements are needed for the results.
using Needs = std::vector<bool>;
Needs needs_of(const Graph& graph, const Values& results);

/// Results of a body which are a node's results and nothing else: those from `first_result` on are the node's
/// from `first_output` on.
struct HandedOn {
  size_t first_result = 0, first_output = 0;
};
HandedOn handed_on(const Graph& body, const Node& node) {
  if (node.op == "If" || node.op == "SequenceMap") return {};
  if (node.op == "Loop")
    return {body.inputs.size() - 1, body.inputs.size() - 2};  // behind condition and state
  if (node.op == "Scan") {
    const size_t states =
        body.inputs.size() - static_cast<size_t>(node.attributes.at("num_scan_inputs").integer);
    return {states, states};
  }
  return {body.outputs.size(), node.outputs.size()};
}

/// What of a body is asked for.
Values wanted_of(const Graph& body, const Node& node, const Needs& needs) {
  const HandedOn handed = handed_on(body, node);
  Values wanted(body.outputs.begin(),
                body.outputs.begin() + static_cast<std::ptrdiff_t>(handed.first_result));
  for (size_t k = handed.first_result, n = handed.first_output; k < body.outputs.size(); ++k, ++n) {
    const ValueId id = n < node.outputs.size() ? node.outputs[n] : ir::absent;
    if (id != ir::absent && needs[static_cast<size_t>(id)]) wanted.push_back(body.outputs[k]);
  }
  return wanted;
}

/// Inputs and captures whose elements a node needs when it runs. What branches read may be needed.
Values needed_by(const Node& node, const Needs& needs) {
  if (node.op == "Shape" || node.op == "Size" || node.op == "EyeLike") return {};
  if (node.op == "CastLike") return {node.inputs[0]};
  Values needed = node.inputs;
  if (node.op == "If") return needed;
  for (const Graph* body : ir::bodies_of(node)) {
    const Needs inside = needs_of(*body, wanted_of(*body, node, needs));
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
    for (const ValueId id : needed_by(*node, needs)) {
      if (id != ir::absent) needs[static_cast<size_t>(id)] = true;
    }
  }
  return needs;
}

/// The node's results that `results` of its body are, which are made so where they are not; without those
/// that cannot be.
Values hand_on(Graph& graph, Node& node, Graph& body, const Values& results) {
  const bool from_trips = node.op == "Loop" || node.op == "Scan";
  const HandedOn handed = handed_on(body, node);
  node.outputs.resize(body.outputs.size() - handed.first_result + handed.first_output, ir::absent);
  Values outputs;
  for (const ValueId id : results) {
    const ir::Value& inside = body.value(id);
    const auto found = std::find(body.outputs.begin(), body.outputs.end(), id);
    const auto at = static_cast<size_t>(found - body.outputs.begin());
    if (at < handed.first_result || (from_trips && inside.kind != ir::ValueKind::tensor)) continue;
    if (found == body.outputs.end()) {
      body.outputs.push_back(id);
      node.outputs.push_back(ir::absent);
    }
    ValueId& output = node.outputs[at - handed.first_result + handed.first_output];
    if (output == ir::absent) {
      ir::Value value;
      value.name = inside.name + " of " + node.name;
      value.kind = node.op == "SequenceMap" ? ir::ValueKind::sequence : inside.kind;
      value.type = inside.type;
      output = graph.add_value(std::move(value));
    }
    outputs.push_back(output);
  }
  for (const char* of_outputs : {"scan_output_axes", "scan_output_directions"}) {
    const auto found = node.attributes.find(of_outputs);
    if (found != node.attributes.end())
      found->second.integers.resize(node.outputs.size() - handed.first_output);
  }
  return outputs;
}

/// A branch has as many results as the other: a number of the type that is there.
void match_outputs(Graph& branch, const Graph& other, const Node& node) {
  while (branch.outputs.size() < other.outputs.size()) {
    const ir::Value& like = other.value(other.outputs[branch.outputs.size()]);
    Node identity;
    identity.name = "like " + like.name;
    identity.op = "Identity";
    identity.version = node.version;
    const ir::ElementType type = like.type == ir::ElementType::undefined ? ir::ElementType::f32 : like.type;
    identity.inputs = {branch.add_constant("constant " + identity.name, ir::Tensor::allocate(type, {}))};
    ir::Value value;
    value.name = identity.name;
    value.type = type;
    identity.outputs = {branch.add_value(std::move(value))};
    branch.outputs.push_back(identity.outputs[0]);
    branch.nodes.push_back(std::move(identity));
  }
}

}  // namespace

bool is_unread(const Graph& graph, const Values& results, const std::string& refusal) {
  const Needs needs = needs_of(graph, results);
  for (const Node& node : graph.nodes) {
    if (!names(refusal, node)) continue;
    if (!runs(node, needs)) return true;
    const auto bodies = ir::bodies_of(node);
    return std::any_of(bodies.begin(), bodies.end(), [&](const Graph* body) {
      return is_unread(*body, wanted_of(*body, node, needs), refusal);
    });
  }
  return false;
}

Shown show_refusing(Graph& graph, const std::string& refusal) {
  for (Node& node : graph.nodes) {
    if (!names(refusal, node)) continue;
    Shown shown{node.name, node.outputs};
    std::erase(shown.results, ir::absent);
    if (node.op != "If" && node.op != "Loop" && node.op != "Scan" && node.op != "SequenceMap") return shown;
    for (auto& [name, attribute] : node.attributes) {
      if (!attribute.graph) continue;
      const auto body = std::make_shared<Graph>(*attribute.graph);
      const Shown inside = show_refusing(*body, refusal);
      if (inside.node.empty()) continue;
      attribute.graph = body;
      shown = {inside.node, hand_on(graph, node, *body, inside.results)};
      if (node.op != "If") return shown;
      auto& other = node.attributes.at(name == "then_branch" ? "else_branch" : "then_branch").graph;
      other = std::make_shared<Graph>(*other);
      match_outputs(*other, *body, node);
      return shown;
    }
    return shown;
  }
  return {};
}

}  // namespace axrun::tests
