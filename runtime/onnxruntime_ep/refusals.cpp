#include "runtime/onnxruntime_ep/refusals.h"

#include "ir/error.h"
#include "ir/infer.h"

namespace axrun::ort {
namespace {

void forget_weights(ir::Graph& graph) {
  for (ir::Value& value : graph.values) {
    if (value.constant.defined() && value.constant.bytes() > looked_at_bytes) value.constant = ir::Tensor();
  }
}

/// Empty: it is not refused.
std::string reason_against(ir::Node& node, ir::Inference& inference) {
  for (ir::Graph* body : ir::bodies_of(node)) {
    const std::vector<Refusal> inner = refused_nodes(*body);
    if (!inner.empty()) return inner.front().reason;
  }
  try {
    if (const auto program = inference.define(node)) inference.conclude(node, *program);
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

std::vector<Refusal> refused_nodes(ir::Graph& graph) {
  forget_weights(graph);
  std::vector<Refusal> refused;
  ir::Inference inference(graph, {});
  for (ir::Node& node : graph.nodes) {
    const std::string reason = reason_against(node, inference);
    if (reason.empty()) continue;
    for (const ir::ValueId id : node.outputs) {
      if (id == ir::absent) continue;
      refused.push_back({graph.value(id).name, reason});
      break;
    }
  }
  return refused;
}

}  // namespace axrun::ort
