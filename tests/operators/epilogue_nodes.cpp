#include "tests/operators/epilogue_nodes.h"

namespace axrun::runtime {
namespace {

ir::ValueId last_result(const Case& c) { return c.nodes.back().outputs[0]; }

/// One value per channel, broadcast from the right; or a single one.
ir::Tensor per_channel(Random& random, const ir::Shape& shape, size_t channel_axis, double low, double high) {
  if (random.chance(20)) return random.floats({}, low, high);
  ir::Shape dims(shape.size() - channel_axis, 1);
  dims[0] = shape[channel_axis];
  return random.floats(dims, low, high);
}

void append_arithmetic(Case& c, Random& random, const ir::Shape& shape, size_t channel_axis) {
  const bool left = random.chance(70);
  const auto op = random.pick<const char*>({"Add", "Mul", "Sub", "Div"});
  const ir::ValueId before = last_result(c);
  NodeBuilder node(c, op, 14);
  const ir::Tensor operand = per_channel(random, shape, channel_axis, 0.5, 2);
  if (left || std::string_view(op) == "Div" || std::string_view(op) == "Sub") {
    node.value(before).constant(operand);
  } else {
    node.constant(operand).value(before);
  }
  node.output();
}

void append_residual(Case& c, Random& random, const ir::Shape& shape) {
  const ir::ValueId before = last_result(c);
  NodeBuilder node(c, "Add", 14);
  if (random.chance(50)) {
    node.value(before).input(random.floats(shape));
  } else {
    node.input(random.floats(shape)).value(before);
  }
  node.output();
}

void append_normalization(Case& c, Random& random, int64_t channels) {
  const ir::ValueId before = last_result(c);
  NodeBuilder(c, "BatchNormalization", 15)
      .value(before)
      .constant(random.floats({channels}, 0.5, 1.5))
      .constant(random.floats({channels}))
      .constant(random.floats({channels}))
      .constant(random.floats({channels}, 0.5, 2))
      .output();
}

/// x * sigmoid(x) or x * hardsigmoid(x), written as two nodes.
void append_gate(Case& c, Random& random) {
  const ir::ValueId before = last_result(c);
  NodeBuilder gate(c, random.chance(50) ? "Sigmoid" : "HardSigmoid", 14);
  gate.value(before);
  if (c.nodes.back().op == "HardSigmoid") gate.real("alpha", 1.0 / 6.0).real("beta", 0.5);
  const ir::ValueId opened = gate.output();
  NodeBuilder product(c, "Mul", 14);
  if (random.chance(50)) {
    product.value(before).value(opened);
  } else {
    product.value(opened).value(before);
  }
  product.output();
}

}  // namespace

void append_activation(Case& c, Random& random) {
  const ir::ValueId before = last_result(c);
  const auto op = random.pick<const char*>(
      {"Relu", "Sigmoid", "Tanh", "LeakyRelu", "HardSigmoid", "HardSwish", "Clip", "Gelu"});
  NodeBuilder node(c, op, 20);
  node.value(before);
  if (std::string_view(op) == "LeakyRelu") node.real("alpha", random.real(0, 0.5));
  if (std::string_view(op) == "HardSigmoid") node.real("alpha", random.real(0.1, 0.5));
  if (std::string_view(op) == "Gelu" && random.chance(50)) node.text("approximate", "tanh");
  if (std::string_view(op) == "Clip") {
    node.constant(random.floats({}, -1, 0));
    if (random.chance(70)) node.constant(random.floats({}, 0, 1));
  }
  node.output();
}

void append_epilogue(Case& c, Random& random, const ir::Shape& shape, size_t channel_axis) {
  if (random.chance(30) && channel_axis == 1) append_normalization(c, random, shape[1]);
  if (random.chance(40)) append_arithmetic(c, random, shape, channel_axis);
  if (random.chance(40)) append_residual(c, random, shape);
  if (random.chance(15)) {
    append_gate(c, random);
  } else if (random.chance(50)) {
    append_activation(c, random);
  }
}

}  // namespace axrun::runtime
