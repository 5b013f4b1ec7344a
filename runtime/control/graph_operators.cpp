#include "runtime/control/graph_operators.h"

#include <fmt/format.h>

#include "ir/error.h"

namespace axrun::runtime {

const ir::Graph& body_of(const ir::Node& node, const std::string& attribute) {
  const auto found = node.attributes.find(attribute);
  if (found == node.attributes.end() || !found->second.graph) {
    throw Error(Fault::model,
                fmt::format("{} '{}': attribute '{}' must be a graph", node.op, node.name, attribute));
  }
  return *found->second.graph;
}

int64_t integer_attribute(const ir::Node& node, const std::string& name, int64_t otherwise) {
  const auto found = node.attributes.find(name);
  return found == node.attributes.end() ? otherwise : found->second.integer;
}

std::vector<int64_t> integers_attribute(const ir::Node& node, const std::string& name) {
  const auto found = node.attributes.find(name);
  return found == node.attributes.end() ? std::vector<int64_t>() : found->second.integers;
}

void fail_at(const ir::Node& node, const std::string& text) {
  throw Error(Fault::user, fmt::format("{} '{}': {}", node.op, node.name, text));
}

int normal_axis(const ir::Node& node, int64_t axis, int rank) {
  if (axis < -rank || axis >= rank)
    fail_at(node, fmt::format("axis {} is out of range for rank {}", axis, rank));
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

int64_t scalar_of(const ir::Node& node, const RuntimeValue& value, const std::string& what) {
  if (value.kind != ir::ValueKind::tensor || value.tensor.size() != 1 ||
      (!ir::is_integer(value.type) && value.type != ir::ElementType::boolean)) {
    fail_at(node, fmt::format("{} must be one integer or boolean", what));
  }
  return value.tensor.get_int(0);
}

std::vector<RuntimeValue> run_graph_operator(const ir::Node& node, const std::vector<RuntimeValue>& inputs,
                                             const RunBody& run_body) {
  if (node.domain == "ai.onnx.ml") return run_map_operator(node, inputs);
  if (node.domain == "com.microsoft") return run_text_generation(node, inputs, run_body);
  if (node.op == "If") return run_if(node, inputs, run_body);
  if (node.op == "Loop") return run_loop(node, inputs, run_body);
  if (node.op == "Scan") return run_scan(node, inputs, run_body);
  return run_container_operator(node, inputs, run_body);
}

}  // namespace axrun::runtime
