#include "tests/operators/sized_generators.h"

#include <iterator>
#include <utility>

namespace axrun::runtime {
namespace {

using ir::ElementType;

constexpr int newest = 25;

Case one_node(Random& random, std::string_view op, ElementType type, int inputs,
              std::string_view domain = "") {
  Case c;
  const ir::Shape shape = random.shape(1, 4, 5);
  NodeBuilder node(c, op, domain.empty() ? newest : 1, domain);
  for (int k = 0; k < inputs; ++k) {
    ir::Shape own = shape;
    for (int64_t& extent : own)
      if (k > 0 && random.chance(30)) extent = 1;
    node.input(random.tensor(type, own, 0.2, 5), k > 0 && random.chance(20));
  }
  node.output();
  return c;
}

Case reduce(Random& random, std::string_view op) {
  Case c;
  const ir::Shape shape = random.shape(1, 4, 5);
  const auto rank = static_cast<int64_t>(shape.size());
  NodeBuilder node(c, op, newest);
  node.input(random.floats(shape, 0.5, 2));
  const int64_t axis = random.integer(-rank, rank - 1);
  if (op.starts_with("Arg")) {
    node.integer("axis", axis);
  } else if (random.chance(80)) {
    node.constant(ir::Tensor::from_i64({axis}));
  }
  node.integer("keepdims", random.integer(0, 1)).output();
  return c;
}

/// Enlarged by whole numbers, or by others; sizes of one element are among them.
Case resize(Random& random, std::string_view op) {
  Case c;
  const ir::Shape shape = {random.integer(1, 3), 2, random.integer(1, 5), random.integer(1, 5)};
  ir::Tensor scales = ir::Tensor::allocate(ElementType::f32, {4});
  for (int64_t d = 0; d < 4; ++d)
    scales.set_real(d, d < 2 ? 1.0 : random.pick({1.0, 2.0, 2.0, 3.0, 8.0, random.chance(20) ? 1.5 : 2.0}));
  const bool nearest = random.chance(60);
  NodeBuilder node(c, op, op == "Upsample" ? 9 : newest);
  node.input(random.floats(shape));
  if (op == "Resize") {
    node.absent().text("coordinate_transformation_mode",
                       random.pick<const char*>({"asymmetric", "half_pixel", "pytorch_half_pixel"}));
    if (nearest) node.text("nearest_mode", random.pick<const char*>({"floor", "round_prefer_floor", "ceil"}));
  }
  node.constant(scales).text("mode", nearest ? "nearest" : "linear").output();
  return c;
}

/// To shapes with -1, 0 and numbers in them, also where they do not fit other sizes.
Case reshape(Random& random) {
  Case c;
  const int64_t rows = random.integer(2, 4), columns = random.pick<int64_t>({6, 12});
  const auto shape = random.pick<std::vector<int64_t>>({{-1, 3, 2},
                                                        {0, -1, 2},
                                                        {0, 0, 1},
                                                        {-1},
                                                        {0, 2, -1, 1},
                                                        {rows, columns},
                                                        {-1, columns},
                                                        {columns, rows}});
  NodeBuilder(c, "Reshape", newest)
      .input(random.floats({rows, columns}))
      .constant(ir::Tensor::from_i64(shape))
      .output();
  return c;
}

/// What Shape tells, into Reshape.
Case reshape_as_told(Random& random) {
  Case c;
  const ir::ValueId x = c.add(random.floats({random.integer(2, 5), random.integer(2, 5), 6}), false);
  const ir::ValueId shape = NodeBuilder(c, "Shape", newest).value(x).integer("end", 2).output();
  const ir::ValueId all = NodeBuilder(c, "Concat", newest)
                              .value(shape)
                              .constant(ir::Tensor::from_i64({2, 3}))
                              .integer("axis", 0)
                              .output();
  NodeBuilder(c, "Reshape", newest).value(x).value(all).output();
  return c;
}

Case counted(Random& random) {
  Case c;
  NodeBuilder(c, "Size", newest).input(random.floats(random.shape(1, 4, 5, 2))).output();
  return c;
}

Case flatten(Random& random) {
  Case c;
  const ir::Shape shape = random.shape(1, 4, 5);
  const auto rank = static_cast<int64_t>(shape.size());
  NodeBuilder(c, "Flatten", newest)
      .input(random.floats(shape))
      .integer("axis", random.integer(-rank, rank))
      .output();
  return c;
}

Case squeeze(Random& random) {
  Case c;
  const ir::Shape shape = {random.integer(2, 5), 1, random.integer(2, 5), 1};
  NodeBuilder node(c, "Squeeze", newest);
  node.input(random.floats(shape));
  if (random.chance(70)) node.constant(ir::Tensor::from_i64({random.pick<int64_t>({1, -1, 3})}));
  node.output();
  return c;
}

Case unsqueeze(Random& random) {
  Case c;
  NodeBuilder(c, "Unsqueeze", newest)
      .input(random.floats(random.shape(1, 3, 5, 2)))
      .constant(ir::Tensor::from_i64({random.integer(-1, 1)}))
      .output();
  return c;
}

Case trilu(Random& random) {
  Case c;
  NodeBuilder(c, "Trilu", newest)
      .input(random.floats({2, random.integer(2, 5), random.integer(2, 5)}))
      .constant(ir::Tensor::from_i64({random.integer(-2, 2)}).reshaped({}))
      .integer("upper", random.integer(0, 1))
      .output();
  return c;
}

Case space_to_depth(Random& random) {
  Case c;
  NodeBuilder(c, "SpaceToDepth", newest)
      .input(random.floats({random.integer(2, 3), 3, 2 * random.integer(1, 3), 2 * random.integer(1, 3)}))
      .integer("blocksize", 2)
      .output();
  return c;
}

Case cast_like(Random& random) {
  Case c;
  NodeBuilder(c, "CastLike", newest)
      .input(random.floats(random.shape(1, 3, 5, 2), -9, 9))
      .input(random.tensor(ElementType::i32, {2}))
      .output();
  return c;
}

Case clip(Random& random) {
  Case c;
  NodeBuilder(c, "Clip", newest)
      .input(random.floats(random.shape(1, 3, 5, 2)))
      .constant(random.floats({}, -1, 0))
      .constant(random.floats({}, 0, 1))
      .output();
  return c;
}

Case quantize(Random& random) {
  Case c;
  const int64_t channels = random.integer(2, 5);
  const bool by_axis = random.chance(60);
  const ir::Shape own = by_axis ? ir::Shape{channels} : ir::Shape{};
  const ir::ValueId bytes = NodeBuilder(c, "QuantizeLinear", newest)
                                .input(random.floats({random.integer(2, 4), channels, 3}, -3, 3))
                                .input(random.floats(own, 0.01, 0.1), random.chance(50))
                                .input(random.tensor(ElementType::u8, own, 0, 255), random.chance(50))
                                .output();
  NodeBuilder(c, "DequantizeLinear", newest).value(bytes).input(random.floats(own, 0.01, 0.1)).output();
  return c;
}

Case dynamic_quantize(Random& random) {
  Case c;
  NodeBuilder(c, "DynamicQuantizeLinear", newest)
      .input(random.floats(random.shape(1, 3, 5, 2), -3, 3))
      .output();
  return c;
}

Case integer_product(Random& random) {
  Case c;
  const int64_t depth = random.integer(2, 6), columns = random.integer(2, 5);
  NodeBuilder node(c, "MatMulInteger", newest);
  node.input(random.tensor(ElementType::u8, {2, random.integer(2, 4), depth}, 0, 255));
  node.input(random.tensor(ElementType::i8, {depth, columns}, -100, 100), random.chance(50));
  if (random.chance(60)) node.input(random.tensor(ElementType::u8, {}, 0, 255));
  node.output();
  return c;
}

Case quantized_product(Random& random) {
  Case c;
  const int64_t depth = random.integer(2, 6), columns = random.integer(2, 5);
  NodeBuilder node(c, "QLinearMatMul", newest);
  const auto parameters = [&] {
    node.constant(random.floats({}, 0.01, 0.1)).constant(random.tensor(ElementType::u8, {}, 0, 255));
  };
  node.input(random.tensor(ElementType::u8, {random.integer(2, 4), depth}, 0, 255));
  parameters();
  node.input(random.tensor(ElementType::u8, {depth, columns}, 0, 255), random.chance(50));
  parameters();
  parameters();
  node.output();
  return c;
}

Case product_of(Random& random, std::string_view op) {
  Case c;
  const int64_t depth = random.integer(2, 6);
  NodeBuilder(c, op, 1, microsoft)
      .input(random.floats({2, random.integer(2, 4), depth}))
      .input(random.floats({depth, random.integer(2, 5)}), random.chance(50))
      .output();
  return c;
}

/// Of rows and a vector as wide as they are.
Case rows_and_vector(Random& random, std::string_view op) {
  Case c;
  const int64_t width = random.integer(2, 5);
  NodeBuilder(c, op, 1, microsoft)
      .input(random.floats({random.integer(2, 4), width}))
      .input(random.floats({width}), random.chance(50))
      .output();
  return c;
}

/// Work on elements alone.
struct Elementwise {
  std::string_view op;
  ElementType type;
  int inputs;
};

constexpr Elementwise elementwise[] = {{"Abs", ElementType::f32, 1},
                                       {"Acos", ElementType::f32, 1},
                                       {"Acosh", ElementType::f32, 1},
                                       {"Add", ElementType::i64, 2},
                                       {"And", ElementType::boolean, 2},
                                       {"Asin", ElementType::f32, 1},
                                       {"Asinh", ElementType::f32, 1},
                                       {"Atan", ElementType::f32, 1},
                                       {"Atanh", ElementType::f32, 1},
                                       {"BitwiseAnd", ElementType::i32, 2},
                                       {"BitwiseNot", ElementType::i32, 1},
                                       {"BitwiseOr", ElementType::i32, 2},
                                       {"BitwiseXor", ElementType::i32, 2},
                                       {"Ceil", ElementType::f32, 1},
                                       {"Celu", ElementType::f32, 1},
                                       {"Cos", ElementType::f32, 1},
                                       {"Cosh", ElementType::f32, 1},
                                       {"Dropout", ElementType::f32, 1},
                                       {"Elu", ElementType::f32, 1},
                                       {"Equal", ElementType::i32, 2},
                                       {"Erf", ElementType::f32, 1},
                                       {"Exp", ElementType::f32, 1},
                                       {"Floor", ElementType::f32, 1},
                                       {"Gelu", ElementType::f32, 1},
                                       {"Greater", ElementType::f32, 2},
                                       {"GreaterOrEqual", ElementType::f32, 2},
                                       {"HardSigmoid", ElementType::f32, 1},
                                       {"HardSwish", ElementType::f32, 1},
                                       {"Identity", ElementType::f32, 1},
                                       {"IsInf", ElementType::f32, 1},
                                       {"IsNaN", ElementType::f32, 1},
                                       {"LeakyRelu", ElementType::f32, 1},
                                       {"Less", ElementType::f32, 2},
                                       {"LessOrEqual", ElementType::f32, 2},
                                       {"Log", ElementType::f32, 1},
                                       {"Max", ElementType::f32, 2},
                                       {"Mean", ElementType::f32, 3},
                                       {"Min", ElementType::f32, 2},
                                       {"Mish", ElementType::f32, 1},
                                       {"Mod", ElementType::i32, 2},
                                       {"Neg", ElementType::f32, 1},
                                       {"Not", ElementType::boolean, 1},
                                       {"Or", ElementType::boolean, 2},
                                       {"Reciprocal", ElementType::f32, 1},
                                       {"Relu", ElementType::f32, 1},
                                       {"Round", ElementType::f32, 1},
                                       {"Selu", ElementType::f32, 1},
                                       {"Sigmoid", ElementType::f32, 1},
                                       {"Sign", ElementType::f32, 1},
                                       {"Sin", ElementType::f32, 1},
                                       {"Sinh", ElementType::f32, 1},
                                       {"Softplus", ElementType::f32, 1},
                                       {"Softsign", ElementType::f32, 1},
                                       {"Sqrt", ElementType::f32, 1},
                                       {"Sum", ElementType::f32, 3},
                                       {"Swish", ElementType::f32, 1},
                                       {"Tan", ElementType::f32, 1},
                                       {"Tanh", ElementType::f32, 1},
                                       {"ThresholdedRelu", ElementType::f32, 1},
                                       {"Xor", ElementType::boolean, 2}};

constexpr std::string_view reductions[] = {"ReduceL1",  "ReduceL2",        "ReduceLogSum", "ReduceLogSumExp",
                                           "ReduceMax", "ReduceMean",      "ReduceMin",    "ReduceProd",
                                           "ReduceSum", "ReduceSumSquare", "ArgMax",       "ArgMin"};

constexpr std::string_view microsoft_elementwise[] = {"FastGelu", "Gelu", "QuickGelu"};
constexpr std::string_view microsoft_products[] = {"FusedMatMul", "TransposeMatMul"};

template <size_t... k>
void add_elementwise(std::vector<GeneratorEntry>& table, std::index_sequence<k...>) {
  (table.push_back({"", elementwise[k].op,
                    [](Random& random) {
                      return one_node(random, elementwise[k].op, elementwise[k].type, elementwise[k].inputs);
                    }}),
   ...);
}

template <size_t... k>
void add_reductions(std::vector<GeneratorEntry>& table, std::index_sequence<k...>) {
  (table.push_back({"", reductions[k], [](Random& random) { return reduce(random, reductions[k]); }}), ...);
}

template <size_t... k>
void add_microsoft(std::vector<GeneratorEntry>& table, std::index_sequence<k...>) {
  (table.push_back({microsoft, microsoft_elementwise[k],
                    [](Random& random) {
                      return one_node(random, microsoft_elementwise[k], ElementType::f32, 1, microsoft);
                    }}),
   ...);
}

template <size_t... k>
void add_products(std::vector<GeneratorEntry>& table, std::index_sequence<k...>) {
  (table.push_back({microsoft, microsoft_products[k],
                    [](Random& random) { return product_of(random, microsoft_products[k]); }}),
   ...);
}

}  // namespace

std::vector<GeneratorEntry> sized_generators() {
  std::vector<GeneratorEntry> table = {
      {"", "Reshape", reshape},
      {"", "Resize", [](Random& random) { return resize(random, "Resize"); }},
      {"", "Upsample", [](Random& random) { return resize(random, "Upsample"); }},
      {"", "Shape", reshape_as_told},
      {"", "Size", counted},
      {"", "Flatten", flatten},
      {"", "Squeeze", squeeze},
      {"", "Unsqueeze", unsqueeze},
      {"", "Trilu", trilu},
      {"", "SpaceToDepth", space_to_depth},
      {"", "CastLike", cast_like},
      {"", "Clip", clip},
      {"", "QuantizeLinear", quantize},
      {"", "DynamicQuantizeLinear", dynamic_quantize},
      {"", "MatMulInteger", integer_product},
      {"", "QLinearMatMul", quantized_product},
      {microsoft, "BiasGelu", [](Random& random) { return rows_and_vector(random, "BiasGelu"); }},
      {microsoft, "SimplifiedLayerNormalization",
       [](Random& random) { return rows_and_vector(random, "SimplifiedLayerNormalization"); }}};
  add_elementwise(table, std::make_index_sequence<std::size(elementwise)>());
  add_reductions(table, std::make_index_sequence<std::size(reductions)>());
  add_microsoft(table, std::make_index_sequence<std::size(microsoft_elementwise)>());
  add_products(table, std::make_index_sequence<std::size(microsoft_products)>());
  return table;
}

}  // namespace axrun::runtime
