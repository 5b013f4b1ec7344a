// If and Loop (ONNX operator specification).
#include <fmt/format.h>

#include "ir/error.h"
#include "runtime/control/graph_operators.h"

namespace axrun::runtime {

std::vector<RuntimeValue> run_if(const ir::Node& node, const std::vector<RuntimeValue>& inputs,
                                 const RunBody& run_body) {
  if (inputs.empty()) fail_at(node, "the condition is missing");
  const bool condition = scalar_of(node, inputs[0], "the condition") != 0;
  return run_body(body_of(node, condition ? "then_branch" : "else_branch"), {});
}

namespace {

/// An empty stack of values the body never produced: its element type and dims are those the body declares.
ir::Tensor empty_stack(const ir::Graph& body, size_t output) {
  const ir::Value& value = body.value(body.outputs[output]);
  const ir::ElementType type = value.type == ir::ElementType::undefined ? ir::ElementType::f32 : value.type;
  ir::Shape shape = {0};
  if (value.dims) {
    for (const ir::Dim& dim : *value.dims) shape.push_back(dim.constant().value_or(0));
  }
  return ir::Tensor::allocate(type, shape);
}

}  // namespace

std::vector<RuntimeValue> run_loop(const ir::Node& node, const std::vector<RuntimeValue>& inputs,
                                   const RunBody& run_body) {
  const ir::Graph& body = body_of(node, "body");
  if (inputs.size() < 2) fail_at(node, "inputs M and cond are missing");
  const size_t carried = inputs.size() - 2;
  if (body.inputs.size() != carried + 2 || body.outputs.size() < carried + 1) {
    throw Error(Fault::model,
                fmt::format("Loop '{}': {} carried values, but the body has {} inputs and {} outputs",
                            node.name, carried, body.inputs.size(), body.outputs.size()));
  }
  const bool bounded = inputs[0].present();
  const int64_t limit = bounded ? scalar_of(node, inputs[0], "the trip count") : 0;
  bool condition = !inputs[1].present() || scalar_of(node, inputs[1], "the condition") != 0;

  std::vector<RuntimeValue> state(inputs.begin() + 2, inputs.end());
  const size_t stacked = body.outputs.size() - 1 - carried;
  std::vector<std::vector<ir::Tensor>> slices(stacked);
  std::vector<ir::ElementType> types(stacked, ir::ElementType::undefined);
  for (int64_t i = 0; condition && (!bounded || i < limit); ++i) {
    std::vector<RuntimeValue> arguments;
    arguments.reserve(carried + 2);
    arguments.emplace_back(ir::Tensor::scalar(ir::ElementType::i64, static_cast<double>(i)));
    ir::Tensor flag = ir::Tensor::allocate(ir::ElementType::boolean, {});
    flag.set_int(0, 1);
    arguments.emplace_back(std::move(flag));
    for (RuntimeValue& value : state) arguments.push_back(std::move(value));
    std::vector<RuntimeValue> results = run_body(body, arguments);
    condition = scalar_of(node, results[0], "the body's condition") != 0;
    for (size_t k = 0; k < carried; ++k) state[k] = std::move(results[k + 1]);
    for (size_t k = 0; k < stacked; ++k) {
      RuntimeValue& slice = results[1 + carried + k];
      if (slice.kind != ir::ValueKind::tensor) fail_at(node, "a scan output of the body is not a tensor");
      types[k] = slice.type;
      slices[k].push_back(std::move(slice.tensor));
    }
  }
  for (size_t k = 0; k < stacked; ++k) {
    if (slices[k].empty()) {
      state.emplace_back(empty_stack(body, 1 + carried + k));
    } else {
      state.emplace_back(stack(slices[k], 0), types[k]);
    }
  }
  return state;
}

}  // namespace axrun::runtime
