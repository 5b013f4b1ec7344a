#include "runtime/onnxruntime_ep/refusals.h"

#include "ir/error.h"
#include "ir/infer.h"

namespace axrun::ort {
namespace {

/// Constants above this are weights: no shape depends on them, and evaluating with them takes long.
constexpr std::size_t weight_bytes = std::size_t{1} << 16;

void forget_weights(ir::Graph& graph) {
  for (ir::Value& value : graph.values) {
    if (value.constant.defined() && value.constant.bytes() > weight_bytes) value.constant = ir::Tensor();
  }
}

bool is_refused(ir::Node& node, ir::Inference& inference) {
  for (ir::Graph* body : ir::bodies_of(node)) {
    if (!refused_nodes(*body).empty()) return true;
  }
  try {
    if (const auto program = inference.define(node)) inference.conclude(node, *program);
    return false;
  } catch (const Error&) {
    return true;
  }
}

}  // namespace

std::vector<std::string> refused_nodes(ir::Graph& graph) {
  forget_weights(graph);
  std::vector<std::string> refused;
  ir::Inference inference(graph, {});
  for (ir::Node& node : graph.nodes) {
    if (!is_refused(node, inference)) continue;
    for (const ir::ValueId id : node.outputs) {
      if (id == ir::absent) continue;
      refused.push_back(graph.value(id).name);
      break;
    }
  }
  return refused;
}

}  // namespace axrun::ort
