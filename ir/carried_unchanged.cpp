#include "ir/carried_unchanged.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "ir/renaming.h"

namespace axrun::ir {
namespace {

/// How many values a Loop or Scan carries from trip to trip, and where they begin among its inputs (and its
/// body's), and among the outputs of the body.
struct Carried {
  size_t count = 0, first_input = 0, first_output = 0;
};

Attribute* body_of(Node& node) {
  if ((node.op != "Loop" && node.op != "Scan") || !node.domain.empty()) return nullptr;
  const auto body = node.attributes.find("body");
  return body != node.attributes.end() && body->second.graph ? &body->second : nullptr;
}

Carried carried_by(const Node& node, const Graph& body) {
  if (body.inputs.size() != node.inputs.size()) return {};
  Carried carried;
  if (node.op == "Loop") {
    if (node.inputs.size() <= 2) return {};
    carried = {node.inputs.size() - 2, 2, 1};
  } else {
    const auto scanned = node.attributes.find("num_scan_inputs");
    if (node.version < 9 || scanned == node.attributes.end() || scanned->second.integer < 1 ||
        static_cast<size_t>(scanned->second.integer) > node.inputs.size())
      return {};
    carried = {node.inputs.size() - static_cast<size_t>(scanned->second.integer), 0, 0};
  }
  return body.outputs.size() < carried.first_output + carried.count ? Carried() : carried;
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

/// Values that somebody reads.
std::vector<bool> values_read(const Graph& graph) {
  std::vector<bool> read(graph.values.size(), false);
  for (const ValueId id : graph.outputs) read[static_cast<size_t>(id)] = true;
  for (const Node& node : graph.nodes) {
    for (const ValueId id : reads_of(node)) read[static_cast<size_t>(id)] = true;
  }
  return read;
}

/// Which of what the node carries its body hands on, the last first. None where nothing else of the node is
/// read: it would be gone, and with it what it refuses.
std::vector<size_t> handed_on(const Node& node, const Graph& body, const Carried& carried,
                              const std::vector<bool>& read) {
  std::vector<size_t> same;
  bool is_needed = false;
  for (size_t k = std::max(carried.count, node.outputs.size()); k-- > 0;) {
    const bool is_same =
        k < carried.count && node.inputs[carried.first_input + k] != absent &&
        origin_of(body, body.outputs[carried.first_output + k]) == body.inputs[carried.first_input + k];
    if (is_same) {
      same.push_back(k);
    } else if (k < node.outputs.size() && node.outputs[k] != absent) {
      is_needed = is_needed || read[static_cast<size_t>(node.outputs[k])];
    }
  }
  return is_needed ? same : std::vector<size_t>();
}

ValueId taken(std::vector<ValueId>& ids, size_t place) {
  const ValueId id = ids[place];
  ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(place));
  return id;
}

}  // namespace

int capture_carried_unchanged(Graph& graph) {
  int found = 0;
  const std::vector<bool> read = values_read(graph);
  Renaming renaming(graph.values.size());
  for (Node& node : graph.nodes) {
    renaming.apply(node);
    Attribute* const attribute = body_of(node);
    if (attribute == nullptr) continue;
    const Carried carried = carried_by(node, *attribute->graph);
    const std::vector<size_t> same = handed_on(node, *attribute->graph, carried, read);
    if (same.empty()) continue;
    auto body = std::make_shared<Graph>(*attribute->graph);
    for (const size_t k : same) {
      const ValueId begin = taken(node.inputs, carried.first_input + k);
      body->captures.emplace_back(begin, taken(body->inputs, carried.first_input + k));
      taken(body->outputs, carried.first_output + k);
      if (k >= node.outputs.size()) continue;
      const ValueId result = taken(node.outputs, k);
      if (result != absent) renaming.forward(result, begin);
    }
    found += static_cast<int>(same.size());
    attribute->graph = std::move(body);
  }
  for (ValueId& id : graph.outputs) id = renaming.resolve(id);
  return found;
}

}  // namespace axrun::ir
