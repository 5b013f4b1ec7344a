// Elementwise operators and groups of them: what the rows for every operator take.
#include <limits>

#include "tests/operators/epilogue_nodes.h"
#include "tests/operators/generators.h"

namespace axrun::runtime {
namespace {

using ir::ElementType;

/// A shape that broadcasts to `result`.
ir::Shape part_of(Random& random, const ir::Shape& result) {
  ir::Shape part = result;
  if (random.chance(40))
    part.erase(part.begin(), part.begin() + random.integer(0, static_cast<int64_t>(part.size())));
  for (int64_t& dim : part) {
    if (random.chance(25)) dim = 1;
  }
  return part;
}

ElementType number(Random& random) {
  return random.chance(60)
             ? ElementType::f32
             : random.pick({ElementType::f64, ElementType::i32, ElementType::i64, ElementType::f32});
}

ir::Shape draw_shape(Random& random) {
  if (random.chance(10)) return {random.integer(500, 1300)};  // more than one block
  if (random.chance(20)) return {random.integer(1, 4), random.integer(60, 140)};
  return random.shape(0, 4, 7);
}

/// Two operands of one type; positive where the operator needs it.
Case binary(Random& random, const char* op, double low, double high, bool floats_only) {
  Case c;
  const ElementType type = floats_only ? ElementType::f32 : number(random);
  const ir::Shape shape = draw_shape(random);
  NodeBuilder node(c, op, 15);
  const bool scale = !ir::is_float(type);
  node.input(random.tensor(type, part_of(random, shape), scale ? low * 10 : low, scale ? high * 10 : high));
  node.input(random.tensor(type, shape, scale ? low * 10 : low, scale ? high * 10 : high), random.chance(30));
  node.output();
  return c;
}
Case add(Random& random) { return binary(random, "Add", -2, 2, false); }
Case subtract(Random& random) { return binary(random, "Sub", -2, 2, false); }
Case multiply(Random& random) { return binary(random, "Mul", -2, 2, false); }
Case divide(Random& random) {
  if (random.chance(70)) return binary(random, "Div", 0.5, 2, true);
  // Integers, which truncate: also the lowest by -1.
  Case c;
  const ElementType type = random.pick({ElementType::i32, ElementType::i64});
  const ir::Shape shape = draw_shape(random);
  ir::Tensor a = random.tensor(type, part_of(random, shape), -50, 50);
  ir::Tensor b = random.tensor(type, shape, -9, 9);
  for (int64_t i = 0; i < b.size(); ++i)
    if (b.get_int(i) == 0) b.set_int(i, -1);
  if (a.size() > 0 && random.chance(40))
    a.set_int(0, type == ElementType::i32 ? std::numeric_limits<int32_t>::min()
                                          : std::numeric_limits<int64_t>::min());
  NodeBuilder(c, "Div", 14).input(std::move(a)).input(std::move(b), random.chance(30)).output();
  return c;
}
Case power(Random& random) { return binary(random, "Pow", 0.2, 2, true); }
Case less(Random& random) { return binary(random, "Less", -2, 2, false); }
Case greater_or_equal(Random& random) { return binary(random, "GreaterOrEqual", -1, 1, false); }

Case where(Random& random) {
  Case c;
  const ElementType type =
      random.pick({ElementType::f32, ElementType::i64, ElementType::boolean, ElementType::f64});
  const ir::Shape shape = draw_shape(random);
  NodeBuilder(c, "Where", 16)
      .input(random.tensor(ElementType::boolean, part_of(random, shape)))
      .input(random.tensor(type, shape, -9, 9))
      .input(random.tensor(type, part_of(random, shape), -9, 9))
      .output();
  return c;
}

Case prelu(Random& random) {
  Case c;
  const ir::Shape shape = random.shape(2, 4, 6);
  ir::Shape slope(shape.size() - 1, 1);
  slope[0] = shape[1];
  NodeBuilder(c, "PRelu", 16).input(random.floats(shape, -2, 2)).constant(random.floats(slope)).output();
  return c;
}

Case cast(Random& random) {
  Case c;
  // ONNX's numbers of the types.
  struct Type {
    ElementType type;
    int64_t code;
  };
  const auto draw = [&] {
    return random.pick<Type>({{ElementType::f32, 1},
                              {ElementType::u8, 2},
                              {ElementType::i8, 3},
                              {ElementType::i32, 6},
                              {ElementType::i64, 7},
                              {ElementType::boolean, 9},
                              {ElementType::f64, 11}});
  };
  // Weights of 16 bits become f32.
  const bool widens = random.chance(40);
  const Type half = random.pick<Type>({{ElementType::f16, 10}, {ElementType::bf16, 16}});
  const Type from = widens ? half : draw(), to = widens ? Type{ElementType::f32, 1} : draw();
  const double low = from.type == ElementType::u8 ? 0 : -100;
  NodeBuilder(c, "Cast", 13)
      .input(random.tensor(from.type, draw_shape(random), low, 100))
      .integer("to", to.code)
      .output();
  return c;
}

/// A few elementwise nodes in a row, each reading the last result and perhaps another tensor.
Case chain(Random& random) {
  Case c;
  const ir::Shape shape = draw_shape(random);
  NodeBuilder first(c, random.pick<const char*>({"Sigmoid", "Neg", "Tanh", "Erf", "Abs", "Softplus", "Exp"}),
                    13);
  first.input(random.floats(shape, -2, 2));
  first.output();
  const int64_t length = random.integer(1, 4);
  for (int64_t k = 0; k < length; ++k) {
    const ir::ValueId before = c.nodes.back().outputs[0];
    if (random.chance(40)) {
      append_activation(c, random);
      continue;
    }
    NodeBuilder node(c, random.pick<const char*>({"Add", "Mul", "Sub", "Max", "Min"}), 14);
    node.value(before);
    if (random.chance(30)) {
      node.value(c.nodes[0].inputs[0]);
    } else {
      node.input(random.floats(part_of(random, shape)), random.chance(50));
    }
    node.output();
  }
  return c;
}

/// x (1 + erf(x / sqrt(2))) / 2 step by step, in the orders that exporters write, and some that are not Gelu.
Case gelu_by_steps(Random& random) {
  Case c;
  const auto join = [&](const char* op, ir::ValueId a, ir::ValueId b, bool turned) {
    return NodeBuilder(c, op, 14).value(turned ? b : a).value(turned ? a : b).output();
  };
  const auto number = [&](double value) {
    ir::Tensor tensor = random.chance(50) ? ir::Tensor::scalar(ElementType::f32, 0)
                                          : ir::Tensor::allocate(ElementType::f32, {1});
    tensor.set_real(0, value);
    return c.add(tensor, random.chance(90));
  };
  const ir::Shape shape = draw_shape(random);
  const bool is_gelu = random.chance(80), divides = random.chance(50);
  ir::ValueId x = c.add(random.floats(shape, -5, 5), false);
  if (random.chance(30)) x = join("Add", x, c.add(random.floats(part_of(random, shape)), true), false);
  const double root = is_gelu ? 1.41421356 : 1.3;
  const ir::ValueId scaled =
      divides ? join("Div", x, number(root), false) : join("Mul", x, number(1 / root), random.chance(50));
  const ir::ValueId erf = NodeBuilder(c, "Erf", 13).value(scaled).output();
  const ir::ValueId sum = join("Add", erf, number(is_gelu || random.chance(50) ? 1 : 2), random.chance(50));
  const int64_t order = random.integer(0, 2);
  const bool first = random.chance(50), second = random.chance(50);
  const ir::ValueId half = number(0.5);
  if (order == 0) {
    join("Mul", join("Mul", x, sum, first), half, second);
  } else if (order == 1) {
    join("Mul", join("Mul", x, half, first), sum, second);
  } else {
    join("Mul", join("Mul", sum, half, first), is_gelu || random.chance(50) ? x : scaled, second);
  }
  return c;
}

Case fast_gelu(Random& random) {
  Case c;
  const ir::Shape shape = random.shape(1, 3, 9);
  NodeBuilder(c, "FastGelu", 1, "com.microsoft")
      .input(random.floats(shape, -3, 3))
      .input(random.floats({shape.back()}))
      .output();
  return c;
}
Case bias_gelu(Random& random) {
  Case c;
  const ir::Shape shape = random.shape(1, 3, 9);
  NodeBuilder(c, "BiasGelu", 1, "com.microsoft")
      .input(random.floats(shape, -3, 3))
      .input(random.floats({shape.back()}))
      .output();
  return c;
}

/// Floats of 16 bits always; the larger of two is exact, so that no rounding tells kernel and expression
/// apart.
Case larger_half(Random& random) {
  Case c;
  const auto type = random.pick({ElementType::f16, ElementType::bf16});
  const ir::Shape shape = random.shape(1, 4, 7);
  NodeBuilder(c, "Max", random.pick({8, 13}))
      .input(random.tensor(type, shape))
      .input(random.tensor(type, random.chance(50) ? shape : ir::Shape{shape.back()}), random.chance(50))
      .output();
  return c;
}

}  // namespace

void elementwise_generators(std::vector<GeneratorEntry>& table) {
  table.push_back({"", "Add", add});
  table.push_back({"", "Sub", subtract});
  table.push_back({"", "Mul", multiply});
  table.push_back({"", "Div", divide});
  table.push_back({"", "Pow", power});
  table.push_back({"", "Less", less});
  table.push_back({"", "GreaterOrEqual", greater_or_equal});
  table.push_back({"", "Where", where});
  table.push_back({"", "PRelu", prelu});
  table.push_back({"", "Cast", cast});
  table.push_back({"", "Max", larger_half});
  table.push_back({"", "Sigmoid", chain});
  table.push_back({"", "Erf", gelu_by_steps});
  table.push_back({"com.microsoft", "FastGelu", fast_gelu});
  table.push_back({"com.microsoft", "BiasGelu", bias_gelu});
}

}  // namespace axrun::runtime
