// If and Loop (ONNX operator specification).
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "ir/error.h"
#include "runtime/control/body_results.h"
#include "runtime/control/graph_operators.h"

namespace axrun::runtime {

std::vector<RuntimeValue> run_if(const ir::Node& node, const std::vector<RuntimeValue>& inputs,
                                 const RunBody& run_body) {
  if (inputs.empty()) fail_at(node, "the condition is missing");
  const bool condition = scalar_of(node, inputs[0], "the condition") != 0;
  const ir::Graph& body = body_of(node, condition ? "then_branch" : "else_branch");
  std::vector<RuntimeValue> results(body.outputs.size());
  run_body(body, {}, results);
  return results;
}

namespace {

/// An empty stack of values the body never produced: its element type and dims are those that follow for the
/// body, or that it declares; sizes that are open are 0.
ir::Tensor empty_stack(const ir::Graph& body, size_t output) {
  const ir::Value& value = body.value(body.outputs[output]);
  const ir::ElementType type = value.type == ir::ElementType::undefined ? ir::ElementType::f32 : value.type;
  ir::Shape shape = {0};
  if (value.dims) {
    for (const ir::Dim& dim : *value.dims) shape.push_back(dim.constant().value_or(0));
  }
  return ir::Tensor::allocate(type, shape);
}

/// The shape of a body's iteration number or condition: scalars to ONNX, but ONNX Runtime gives a body that
/// declares dims for them one element of one dimension, and exporters rely on it.
ir::Shape shape_of_one(const ir::Graph& body, size_t input) {
  const std::optional<ir::Dims>& declared = body.value(body.inputs[input]).dims;
  return declared && !declared->empty() ? ir::Shape{1} : ir::Shape{};
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

  ir::Tensor flag = ir::Tensor::allocate(ir::ElementType::boolean, shape_of_one(body, 1));
  flag.set_int(0, 1);
  std::vector<RuntimeValue> arguments(inputs.begin(), inputs.end()), results(body.outputs.size());
  arguments[1] = RuntimeValue(flag);
  const ir::Shape number_shape = shape_of_one(body, 0);
  std::vector<CarriedValue> places(carried);
  // Loops that end by their condition often have an absurd limit.
  constexpr int64_t most_expected = 16;
  const int64_t expected = bounded ? std::min(limit, most_expected) : most_expected;
  std::vector<StackedValue> stacks(body.outputs.size() - 1 - carried, {node, 0, false, expected});
  for (int64_t i = 0; condition && (!bounded || i < limit); ++i) {
    ir::Tensor number = ir::Tensor::allocate_uninitialized(ir::ElementType::i64, number_shape);
    number.set_int(0, i);
    arguments[0] = RuntimeValue(std::move(number));
    for (size_t k = 0; k < carried; ++k) places[k].offer(arguments[k + 2], results[k + 1]);
    for (size_t k = 0; k < stacks.size(); ++k) stacks[k].offer(results[1 + carried + k]);
    run_body(body, arguments, results);
    condition = scalar_of(node, results[0], "the body's condition") != 0;
    for (size_t k = 0; k < carried; ++k) {
      places[k].taken(results[k + 1]);
      std::swap(arguments[k + 2], results[k + 1]);
    }
    for (size_t k = 0; k < stacks.size(); ++k) stacks[k].add(results[1 + carried + k]);
  }
  std::vector<RuntimeValue> all(std::make_move_iterator(arguments.begin() + 2),
                                std::make_move_iterator(arguments.end()));
  for (size_t k = 0; k < stacks.size(); ++k)
    all.push_back(stacks[k].count() == 0 ? empty_stack(body, 1 + carried + k) : stacks[k].whole());
  return all;
}

}  // namespace axrun::runtime
