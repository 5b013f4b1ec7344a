#include "tests/operators/generators.h"

namespace axrun::runtime {

ir::Tensor between_bytes(Random& random, const ir::Shape& shape) {
  ir::Tensor tensor = random.floats(shape);
  if (tensor.size() < 2) return tensor;
  constexpr double step = 0x1p-7;
  const int64_t zero = random.integer(60, 190), low = random.integer(0, tensor.size() - 1);
  for (int64_t i = 0; i < tensor.size(); ++i)
    tensor.set_real(i, step * (static_cast<double>(random.integer(0, 254) - zero) + 0.25));
  tensor.set_real(low, -step * static_cast<double>(zero));
  tensor.set_real((low + 1) % tensor.size(), step * static_cast<double>(255 - zero));
  return tensor;
}

namespace {

using ir::ElementType;

ElementType byte_type(Random& random) { return random.pick({ElementType::u8, ElementType::i8}); }

ir::Tensor full_range(Random& random, ElementType type, const ir::Shape& shape) {
  return random.tensor(type, shape, static_cast<double>(ir::integer_min(type)),
                       static_cast<double>(ir::integer_max(type)));
}

/// Zero points near the middle of the type's range.
ir::Tensor zeros(Random& random, ElementType type, const ir::Shape& shape) {
  const auto low = static_cast<double>(ir::integer_min(type)),
             high = static_cast<double>(ir::integer_max(type));
  return random.tensor(type, shape, low / 2 + high / 4, high / 2 + low / 4);
}

ir::Tensor scale(Random& random, const ir::Shape& shape) { return random.floats(shape, 0.01, 0.3); }

/// Parameters of a tensor: one for all, or one per index of an axis.
struct Parameters {
  ir::Shape shape;
  int64_t axis = 0;
};
Parameters draw_parameters(Random& random, const ir::Shape& x) {
  Parameters p;
  if (x.empty() || random.chance(50)) {
    if (random.chance(30)) p.shape = {1};
    return p;
  }
  p.axis = random.integer(0, static_cast<int64_t>(x.size()) - 1);
  p.shape = {x[static_cast<size_t>(p.axis)]};
  return p;
}

template <const char* domain>
Case quantize(Random& random) {
  Case c;
  const ir::Shape shape = random.chance(10) ? ir::Shape{random.integer(2000, 2300)} : random.shape(0, 4, 9);
  const Parameters p = draw_parameters(random, shape);
  const ElementType type = random.pick({ElementType::u8, ElementType::u8, ElementType::i8, ElementType::u16,
                                        ElementType::i16, ElementType::u4, ElementType::i4});
  NodeBuilder node(c, "QuantizeLinear", domain[0] == '\0' ? 21 : 1, domain);
  node.input(random.floats(shape, -20, 20)).input(scale(random, p.shape), random.chance(50));
  if (type != ElementType::u8 || random.chance(70))
    node.input(zeros(random, type, p.shape), random.chance(50));
  node.integer("axis", p.axis);
  const ir::ValueId bytes = node.output();
  // Followed by its inverse, it is one pass.
  if (domain[0] == '\0' && random.chance(40) && c.nodes[0].inputs.size() == 3) {
    NodeBuilder back(c, "DequantizeLinear", 21);
    back.value(bytes).value(c.nodes[0].inputs[1]).value(c.nodes[0].inputs[2]).integer("axis", p.axis);
    back.output();
  }
  return c;
}

template <const char* domain>
Case dequantize(Random& random) {
  Case c;
  const ir::Shape shape = random.shape(0, 4, 9);
  const Parameters p = draw_parameters(random, shape);
  const ElementType type = random.pick({ElementType::u8, ElementType::i8, ElementType::u16, ElementType::i16,
                                        ElementType::i32, ElementType::u4, ElementType::i4});
  NodeBuilder node(c, "DequantizeLinear", domain[0] == '\0' ? 21 : 1, domain);
  node.input(type == ElementType::i32 ? random.tensor(type, shape, -9000, 9000)
                                      : full_range(random, type, shape));
  node.input(scale(random, p.shape));
  if (random.chance(70))
    node.input(type == ElementType::i32 ? random.tensor(type, p.shape, 0, 0) : zeros(random, type, p.shape));
  node.integer("axis", p.axis);
  node.output();
  return c;
}

Case dynamic_quantize(Random& random) {
  Case c;
  const double low = random.real(-4, 1), high = random.real(low, 4);
  NodeBuilder node(c, "DynamicQuantizeLinear", 11);
  node.input(random.floats(random.shape(0, 4, 9), low, high));
  node.output();
  node.output();
  node.output();
  return c;
}

/// Shapes of a product: A [batch..., m, k] and B [k, n], or B with batches of its own.
struct ProductShapes {
  ir::Shape a, b;
  int64_t n = 0;
};
ProductShapes draw_product(Random& random) {
  const int64_t m = random.integer(1, 9), n = random.integer(1, random.chance(30) ? 40 : 9),
                k = random.integer(1, random.chance(30) ? 70 : 9);
  ProductShapes s;
  s.n = n;
  s.a = random.shape(0, 2, 3);
  if (random.chance(30)) {
    s.b = s.a;
    if (!s.b.empty() && random.chance(50)) s.b[0] = 1;
  }
  s.a.insert(s.a.end(), {m, k});
  s.b.insert(s.b.end(), {k, n});
  return s;
}

Case matmul_integer(Random& random) {
  Case c;
  const ProductShapes s = draw_product(random);
  const ElementType a = byte_type(random), b = byte_type(random);
  const bool constant = random.chance(60);
  NodeBuilder node(c, "MatMulInteger", 10);
  node.input(full_range(random, a, s.a)).input(full_range(random, b, s.b), constant);
  if (random.chance(70)) {
    node.input(zeros(random, a, {}));
    if (random.chance(70))
      node.input(zeros(random, b, random.chance(50) ? ir::Shape{} : ir::Shape{s.n}), constant);
  }
  node.output();
  return c;
}

Case qlinear_matmul(Random& random) {
  Case c;
  const ProductShapes s = draw_product(random);
  const ElementType a = byte_type(random), b = byte_type(random), y = byte_type(random);
  const bool constant = random.chance(60);
  const ir::Shape columns = random.chance(50) ? ir::Shape{} : ir::Shape{s.n};
  NodeBuilder(c, "QLinearMatMul", 10)
      .input(full_range(random, a, s.a))
      .input(scale(random, {}))
      .input(zeros(random, a, {}))
      .input(full_range(random, b, s.b), constant)
      .input(scale(random, columns))
      .input(zeros(random, b, columns), constant)
      .input(random.floats({}, 2, 40))
      .input(zeros(random, y, {}))
      .output();
  return c;
}

/// A scale or zero point for all columns, or one per column.
ir::Shape draw_columns(Random& random, int64_t n) {
  switch (random.integer(0, 3)) {
    case 0:
      return {};
    case 1:
      return {1};
    case 2:
      return {1, n};
    default:
      return {n};
  }
}

void maybe(NodeBuilder& node, Random& random, ir::Tensor tensor, bool constant = false) {
  if (random.chance(60)) {
    node.input(std::move(tensor), constant);
  } else {
    node.absent();
  }
}

Case dynamic_quantize_matmul(Random& random) {
  Case c;
  const ProductShapes s = draw_product(random);
  const ElementType b = byte_type(random);
  const bool constant = random.chance(60);
  const ir::Shape columns = random.chance(50) ? ir::Shape{} : ir::Shape{s.n};
  NodeBuilder node(c, "DynamicQuantizeMatMul", 1, "com.microsoft");
  node.input(between_bytes(random, s.a)).input(full_range(random, b, s.b), constant);
  node.input(scale(random, columns), constant);
  maybe(node, random, zeros(random, b, columns), constant);
  if (random.chance(60)) node.input(random.floats({s.n}));
  node.output();
  return c;
}

Case matmul_integer_to_float(Random& random) {
  Case c;
  const ProductShapes s = draw_product(random);
  const ElementType a = byte_type(random), b = byte_type(random);
  const bool constant = random.chance(60);
  NodeBuilder node(c, "MatMulIntegerToFloat", 1, "com.microsoft");
  node.input(full_range(random, a, s.a)).input(full_range(random, b, s.b), constant);
  node.input(scale(random, {})).input(scale(random, draw_columns(random, s.n)));
  maybe(node, random, zeros(random, a, {}));
  maybe(node, random, zeros(random, b, draw_columns(random, s.n)), constant);
  if (random.chance(60)) node.input(random.floats({s.n}));
  node.output();
  return c;
}

Case qgemm(Random& random) {
  Case c;
  const int64_t m = random.integer(1, 9), n = random.integer(1, random.chance(30) ? 40 : 9),
                k = random.integer(1, random.chance(30) ? 70 : 9);
  const ElementType a = byte_type(random), b = byte_type(random), y = byte_type(random);
  const bool constant = random.chance(60), turns_a = random.chance(30), turns_b = random.chance(40);
  const ir::Shape columns = random.chance(50) ? ir::Shape{} : ir::Shape{n};
  NodeBuilder node(c, "QGemm", 1, "com.microsoft");
  node.integer("transA", turns_a).integer("transB", turns_b);
  if (random.chance(50)) node.real("alpha", random.real(0.5, 2));
  node.input(full_range(random, a, turns_a ? ir::Shape{k, m} : ir::Shape{m, k}));
  node.input(scale(random, {})).input(zeros(random, a, {}));
  node.input(full_range(random, b, turns_b ? ir::Shape{n, k} : ir::Shape{k, n}), constant);
  node.input(scale(random, columns)).input(zeros(random, b, columns), constant);
  const ir::Shape added[] = {{n}, {1}, {1, n}, {m, 1}, {m, n}};
  maybe(node, random, random.tensor(ElementType::i32, added[random.integer(0, 4)], -9000, 9000));
  if (random.chance(60)) node.input(random.floats({}, 2, 40)).input(zeros(random, y, {}));
  node.output();
  return c;
}

struct ConvolutionShapes {
  ir::Shape x, w;
  int64_t groups = 1;
  std::vector<int64_t> strides, dilations, pads;
};
ConvolutionShapes draw_convolution(Random& random) {
  ConvolutionShapes s;
  s.groups = random.chance(70) ? 1 : random.integer(1, 4);
  s.x = {random.integer(1, 2), s.groups * random.integer(1, random.chance(20) ? 20 : 4)};
  s.w = {s.groups * random.integer(1, random.chance(30) ? 40 : 4), s.x[1] / s.groups};
  const int64_t rank = random.integer(1, 3);
  for (int64_t d = 0; d < rank; ++d) {
    s.w.push_back(random.integer(1, 3));
    s.dilations.push_back(random.integer(1, 2));
    s.strides.push_back(random.integer(1, 2));
    const int64_t reach = s.dilations.back() * (s.w.back() - 1) + 1;
    s.x.push_back(random.integer(reach, reach + 4));
  }
  for (int64_t d = 0; d < 2 * rank; ++d) s.pads.push_back(random.integer(0, 1));
  return s;
}
void set_convolution(NodeBuilder& node, Random& random, const ConvolutionShapes& s) {
  node.integers("strides", s.strides).integers("dilations", s.dilations).integer("group", s.groups);
  if (random.chance(70)) {
    node.integers("pads", s.pads);
  } else {
    node.text("auto_pad", random.pick<const char*>({"SAME_UPPER", "SAME_LOWER", "VALID"}));
  }
}

Case conv_integer(Random& random) {
  Case c;
  const ConvolutionShapes s = draw_convolution(random);
  const ElementType x = byte_type(random), w = byte_type(random);
  const bool constant = random.chance(70);
  NodeBuilder node(c, "ConvInteger", 10);
  node.input(full_range(random, x, s.x)).input(full_range(random, w, s.w), constant);
  if (random.chance(70)) {
    node.input(zeros(random, x, {}));
    if (random.chance(70))
      node.input(zeros(random, w, random.chance(50) ? ir::Shape{} : ir::Shape{s.w[0]}), constant);
  }
  set_convolution(node, random, s);
  node.output();
  return c;
}

Case qlinear_conv(Random& random) {
  Case c;
  const ConvolutionShapes s = draw_convolution(random);
  const ElementType x = byte_type(random), w = byte_type(random), y = byte_type(random);
  const bool constant = random.chance(70);
  const ir::Shape channels = random.chance(50) ? ir::Shape{} : ir::Shape{s.w[0]};
  NodeBuilder node(c, "QLinearConv", 10);
  node.input(full_range(random, x, s.x))
      .input(scale(random, {}))
      .input(zeros(random, x, {}))
      .input(full_range(random, w, s.w), constant)
      .input(scale(random, channels))
      .input(zeros(random, w, channels), constant)
      .input(random.floats({}, 2, 40))
      .input(zeros(random, y, {}));
  if (random.chance(60)) node.input(random.tensor(ElementType::i32, {s.w[0]}, -5000, 5000));
  set_convolution(node, random, s);
  node.output();
  return c;
}

Case pair(Random& random, const char* op, double least_scale, double most_scale) {
  Case c;
  const ElementType type = byte_type(random);
  const ir::Shape shape = random.shape(0, 4, 6);
  ir::Shape other(shape.begin() + (shape.empty() ? 0 : random.integer(0, static_cast<int64_t>(shape.size()))),
                  shape.end());
  for (int64_t& dim : other) {
    if (random.chance(30)) dim = 1;
  }
  const bool swaps = random.chance(50);
  NodeBuilder node(c, op, 1, "com.microsoft");
  const auto add = [&](const ir::Shape& dims) {
    node.input(full_range(random, type, dims)).input(scale(random, {})).input(zeros(random, type, {}));
  };
  add(swaps ? other : shape);
  add(swaps ? shape : other);
  node.input(random.floats({}, least_scale, most_scale));
  if (random.chance(80)) node.input(zeros(random, type, {}));
  node.output();
  return c;
}
Case qlinear_add(Random& random) { return pair(random, "QLinearAdd", 0.1, 0.5); }
Case qlinear_mul(Random& random) { return pair(random, "QLinearMul", 0.5, 9); }

Case function(Random& random, const char* op) {
  Case c;
  const ElementType type = byte_type(random);
  NodeBuilder node(c, op, 1, "com.microsoft");
  node.input(full_range(random, type, random.shape(0, 4, 9)))
      .constant(scale(random, {}))
      .constant(zeros(random, type, {}))
      .constant(random.floats({}, 0.01, 0.1))
      .constant(zeros(random, type, {}));
  if (std::string_view(op) == "QLinearLeakyRelu") node.real("alpha", random.real(0, 0.5));
  node.output();
  return c;
}
Case qlinear_leaky_relu(Random& random) { return function(random, "QLinearLeakyRelu"); }
Case qlinear_sigmoid(Random& random) { return function(random, "QLinearSigmoid"); }

Case qlinear_concat(Random& random) {
  Case c;
  const ElementType type = byte_type(random);
  ir::Shape shape = random.shape(1, 4, 5);
  const auto axis = static_cast<size_t>(random.integer(0, static_cast<int64_t>(shape.size()) - 1));
  const ir::Tensor y_scale = random.floats({}, 0.01, 0.1), y_zero = zeros(random, type, {});
  NodeBuilder node(c, "QLinearConcat", 1, "com.microsoft");
  node.constant(y_scale).constant(y_zero);
  for (int64_t parts = random.integer(1, 4); parts > 0; --parts) {
    shape[axis] = random.integer(1, 40);
    node.input(full_range(random, type, shape));
    const bool same = random.chance(30);
    node.constant(same ? y_scale : random.floats({}, 0.01, 0.1));
    node.constant(same ? y_zero : zeros(random, type, {}));
  }
  const auto given = static_cast<int64_t>(axis);
  node.integer("axis", random.chance(50) ? given : given - static_cast<int64_t>(shape.size()));
  node.output();
  return c;
}

constexpr char onnx[] = "", of_microsoft[] = "com.microsoft";

}  // namespace

void quantized_generators(std::vector<GeneratorEntry>& table) {
  table.push_back({onnx, "QuantizeLinear", quantize<onnx>});
  table.push_back({onnx, "DequantizeLinear", dequantize<onnx>});
  table.push_back({microsoft, "QuantizeLinear", quantize<of_microsoft>});
  table.push_back({microsoft, "DequantizeLinear", dequantize<of_microsoft>});
  table.push_back({onnx, "DynamicQuantizeLinear", dynamic_quantize});
  table.push_back({onnx, "MatMulInteger", matmul_integer});
  table.push_back({onnx, "QLinearMatMul", qlinear_matmul});
  table.push_back({microsoft, "DynamicQuantizeMatMul", dynamic_quantize_matmul});
  table.push_back({microsoft, "MatMulIntegerToFloat", matmul_integer_to_float});
  table.push_back({microsoft, "QGemm", qgemm});
  table.push_back({onnx, "ConvInteger", conv_integer});
  table.push_back({onnx, "QLinearConv", qlinear_conv});
  table.push_back({microsoft, "QLinearAdd", qlinear_add});
  table.push_back({microsoft, "QLinearMul", qlinear_mul});
  table.push_back({microsoft, "QLinearLeakyRelu", qlinear_leaky_relu});
  table.push_back({microsoft, "QLinearSigmoid", qlinear_sigmoid});
  table.push_back({microsoft, "QLinearConcat", qlinear_concat});
}

}  // namespace axrun::runtime
