#include "tests/search/cases.h"

#include <utility>

#include "ir/builder.h"
#include "ir/compose.h"
#include "ir/operator.h"
#include "ir/text.h"
#include "tests/search/attention_cases.h"
#include "tests/search/chained_product_cases.h"
#include "tests/search/chained_windows_cases.h"
#include "tests/search/channels_last_cases.h"
#include "tests/search/convolution_cases.h"
#include "tests/search/gather_cases.h"
#include "tests/search/inverted_residual_cases.h"
#include "tests/search/mapped_windows_cases.h"
#include "tests/search/placement_cases.h"
#include "tests/search/quantized_cases.h"
#include "tests/search/recurrence_cases.h"
#include "tests/search/scheduled_product_cases.h"
#include "tests/search/type_cases.h"
#include "tests/search/window_cases.h"

namespace axrun::tests {

using ir::Builder;
using ir::Dim;
using ir::Dims;
using ir::ElementType;
using ir::Indices;
using ir::Program;

namespace {

/// A sum over w[40, 5, 3], three neighbours in x[5, n], and y[5, n]: taps share what they read of x, not of
/// y.
Program product_of_neighbours(const Dim& n) {
  Builder b("neighbours");
  const auto w = b.operand(0, ElementType::f32, {40, 5, 3}, "w"),
             x = b.operand(1, ElementType::f32, {5, n}, "x"), y = b.operand(2, ElementType::f32, {5, n}, "y");
  b.output(b.reduce(
      ir::Monoid::Kind::sum, {40, n}, {5, 3},
      [&](const Indices& i, const Indices& r) {
        return w({i[0], r[0], r[1]}) * (x.padded({r[0], i[1] + r[1] - 1}, 0.0) * y({r[0], i[1]}));
      },
      "sum"));
  return b.finish();
}

/// a[m, k] b[k, n] + bias[n], each part optional.
Program product(const Dim& m, const Dim& n, const Dim& k, bool bias, bool relu, bool b_transposed = false) {
  Builder b("product");
  const auto left = b.operand(0, ElementType::f32, {m, k}, "a");
  const auto right = b.operand(1, ElementType::f32, b_transposed ? Dims{n, k} : Dims{k, n}, "b");
  ir::TensorRef addend;
  if (bias) addend = b.operand(2, ElementType::f32, {n}, "bias");
  const auto sum = b.reduce(
      ir::Monoid::Kind::sum, {m, n}, {k},
      [&](const Indices& i, const Indices& r) {
        return left({i[0], r[0]}) * (b_transposed ? right({i[1], r[0]}) : right({r[0], i[1]}));
      },
      "sum");
  if (!bias && !relu) {
    b.output(sum);
    return b.finish();
  }
  b.output(b.map(
      {m, n},
      [&](const Indices& i) {
        auto value = sum(i);
        if (bias) value = value + addend({i[1]});
        return relu ? max(value, 0.0) : value;
      },
      "c"));
  return b.finish();
}

/// One node of ONNX's operator, as its definition has it.
struct NodeOf {
  std::string op;
  int version = 21;
  std::vector<Dims> inputs;
  std::map<std::string, ir::Attribute> attributes = {};
  std::vector<ElementType> types = {};               ///< f32 where missing
  std::vector<std::vector<int64_t>> constants = {};  ///< values of i64 inputs after the others
  int outputs = 1;
};

ir::Attribute real(double value) {
  ir::Attribute attribute;
  attribute.kind = ir::Attribute::Kind::real;
  attribute.real = value;
  return attribute;
}

ir::Attribute integers(const std::vector<int64_t>& values) {
  ir::Attribute attribute;
  attribute.kind = ir::Attribute::Kind::integers;
  attribute.integers = values;
  return attribute;
}

ir::Attribute reals(const std::vector<double>& values) {
  ir::Attribute attribute;
  attribute.kind = ir::Attribute::Kind::reals;
  attribute.reals = values;
  return attribute;
}

/// Linear, of the last two of four dimensions.
NodeOf resize(const Dims& dims, const std::vector<int64_t>& sizes, const std::string& coordinates) {
  const Dims none = {0};
  return {"Resize",
          13,
          {dims, none, none},
          {{"mode", text("linear")}, {"coordinate_transformation_mode", text(coordinates)}},
          {},
          {sizes}};
}

Program define(const NodeOf& wanted) {
  ir::Node node;
  node.name = "n";
  node.op = wanted.op;
  node.version = wanted.version;
  node.attributes = wanted.attributes;
  std::vector<ir::OperandInfo> operands;
  for (size_t k = 0; k < wanted.inputs.size(); ++k) {
    node.inputs.push_back(static_cast<ir::ValueId>(k));
    ir::OperandInfo info;
    info.present = true;
    info.type = k < wanted.types.size() ? wanted.types[k] : ElementType::f32;
    info.dims = wanted.inputs[k];
    operands.push_back(info);
  }
  std::vector<ir::Tensor> constants;
  constants.reserve(wanted.constants.size());
  for (const std::vector<int64_t>& values : wanted.constants) {
    ir::Tensor tensor = ir::Tensor::allocate(ElementType::i64, {static_cast<int64_t>(values.size())});
    for (size_t k = 0; k < values.size(); ++k) tensor.set_int(static_cast<int64_t>(k), values[k]);
    constants.push_back(tensor);
    node.inputs.push_back(static_cast<ir::ValueId>(operands.size()));
    ir::OperandInfo info;
    info.present = true;
    info.type = ElementType::i64;
    info.dims = ir::to_dims(tensor.shape());
    info.constant = &constants.back();
    operands.push_back(info);
  }
  for (int k = 0; k < wanted.outputs; ++k) node.outputs.push_back(k);
  return ir::define_node(node, operands);
}

/// Nodes of a group: value ids of inputs and of the output.
struct Link {
  NodeOf node;
  std::vector<ir::ValueId> inputs;
  ir::ValueId output;
};

Program chain(const std::vector<Link>& links, const std::vector<ir::ValueId>& outside) {
  std::vector<Program> programs;
  programs.reserve(links.size());
  std::vector<ir::Part> parts;
  for (const Link& link : links) {
    programs.push_back(define(link.node));
    parts.push_back({&programs.back(), link.inputs, {link.output}});
  }
  return ir::compose("group", parts, outside, {links.back().output});
}

}  // namespace

std::vector<Case> operator_cases() {
  const ir::loop::Size n{"n", 1, 4096, 1};
  const std::vector<SizeValues> some_n = {{{"n", 1}}, {{"n", 3}}, {{"n", 37}}};
  std::vector<Case> cases;
  const auto add = [&](const std::string& name, const std::string& kind, const NodeOf& node,
                       const search::Sizes& sizes = {}, const std::vector<SizeValues>& values = {{}},
                       const std::vector<bool>& constant = {}) {
    cases.push_back({name, kind, [node] { return define(node); }, sizes, constant, values});
  };
  const auto group = [&](const std::string& name, const std::string& kind, const std::vector<Link>& links,
                         const std::vector<ir::ValueId>& outside, const search::Sizes& sizes = {},
                         const std::vector<SizeValues>& values = {{}},
                         const std::vector<bool>& constant = {}) {
    cases.push_back(
        {name, kind, [links, outside] { return chain(links, outside); }, sizes, constant, values});
  };

  // Maps.
  add("AddOfTwo", "map", {"Add", 14, {{2, 5, 24}, {2, 5, 24}}});
  add("AddBroadcasts", "map", {"Add", 14, {{2, 5, 24}, {24}}});
  add("MulBroadcastsBothWays", "map", {"Mul", 14, {{2, 1, 24}, {2, 5, 1}}});
  add("AddOfScalar", "map", {"Add", 14, {{sym("n"), 40}, {}}}, {n}, some_n);
  add("SubOfAnyRows", "map", {"Sub", 14, {{2, sym("n"), 6}, {sym("n"), 1}}}, {n}, some_n);
  add("GeluOfAnything", "map", {"Gelu", 20, {{sym("n"), 100}}}, {n}, some_n);
  add("Where", "map", {"Where", 16, {{1, 9}, {4, 9}, {}}, {}, {ElementType::boolean}});
  add("Sigmoid", "map", {"Sigmoid", 13, {{7, 33}}});
  add("ShortRows", "map", {"Mul", 14, {{11, 3}, {3}}});
  add("Transpose", "map", {"Transpose", 13, {{2, 7, 5}}, {{"perm", integers({0, 2, 1})}}});
  add("TransposeOfAnySizes", "map", {"Transpose", 13, {{sym("n"), sym("m")}}, {{"perm", integers({1, 0})}}},
      {n, {"m", 1, 4096, 1}}, {{{"n", 1}, {"m", 1}}, {{"n", 17}, {"m", 40}}, {{"n", 16}, {"m", 8}}});
  add("TransposeOfHeads", "map", {"Transpose", 13, {{2, sym("n"), 3, 8}}, {{"perm", integers({0, 2, 3, 1})}}},
      {n}, some_n);
  add("TransposeOfChannels", "map", {"Transpose", 13, {{2, 3, 5, 7}}, {{"perm", integers({0, 2, 3, 1})}}});
  add("TransposeOfEverything", "map", {"Transpose", 13, {{3, 4, 5, 18}}, {{"perm", integers({3, 2, 1, 0})}}});
  add("TransposeOfTriples", "map", {"Transpose", 13, {{2, 150, 3}}, {{"perm", integers({0, 2, 1})}}});
  add("TransposeOfManyRows", "map", {"Transpose", 13, {{20, 150}}, {{"perm", integers({1, 0})}}});
  // The extreme value, and then its place.
  add("ArgMaxOfRows", "rows", {"ArgMax", 13, {{5, 37}}, {{"axis", integer(1)}}});
  add("ArgMaxOfChannels", "rows",
      {"ArgMax", 13, {{2, 5, 3, 21}}, {{"axis", integer(1)}, {"keepdims", integer(0)}}});
  add("ArgMinOfAnyRowsFromTheEnd", "rows",
      {"ArgMin", 13, {{sym("n"), 19}}, {{"axis", integer(-1)}, {"select_last_index", integer(1)}}}, {n},
      some_n);
  add("ArgMaxOfBytes", "rows", {"ArgMax", 13, {{3, 70}}, {{"axis", integer(1)}}, {ElementType::u8}});
  // Points whose neighbours have the same weights from period to period.
  add("ResizeByTwo", "map+map", resize({2, 3, 9, 40}, {2, 3, 18, 80}, "half_pixel"));
  add("ResizeByTwoFromTheEdge", "map+map", resize({1, 2, 5, 33}, {1, 2, 10, 66}, "asymmetric"));
  add("ResizeByThreeHalves", "map+map", resize({1, 2, 6, 38}, {1, 2, 9, 57}, "pytorch_half_pixel"));
  add("ResizeToHalf", "map", resize({1, 3, 10, 66}, {1, 3, 5, 33}, "half_pixel"));
  add("ResizeToAThird", "map", resize({1, 3, 4, 66}, {1, 3, 4, 22}, "half_pixel_symmetric"));
  add("ResizeByEight", "map+map", resize({1, 1, 2, 20}, {1, 1, 16, 160}, "half_pixel"));
  add("ResizeOfOnePoint", "map", resize({1, 7, 1, 1}, {1, 7, 33, 33}, "align_corners"));
  add("UpsampleOfAnyRows", "map+map",
      {"Upsample", 7, {{1, 2, sym("n"), 20}}, {{"mode", text("linear")}, {"scales", reals({1, 1, 2, 4})}}},
      {n}, some_n);
  // Lanes along the axis before a short last one.
  add("ExpandToPairs", "map", {"Expand", 13, {{3, 37, 1}}, {}, {}, {{3, 37, 2}}});
  add("ExpandToTriplesOfAnyRows", "map", {"Expand", 13, {{sym("n"), 5, 1}}, {}, {}, {{1, 5, 3}}}, {n},
      some_n);
  group("RepeatedFourTimes", "map",
        {{{"Neg", 13, {{2, 3, 70, 1}}}, {1}, 10},
         {{"Add", 14, {{2, 3, 70, 1}, {4}}}, {10, 2}, 11},
         {{"Reshape", 14, {{2, 3, 70, 4}}, {}, {}, {{2, 3, 280}}}, {11, 20}, 12}},
        {1, 2});
  group("TransposeInAChain", "map",
        {{{"Mul", 14, {{18, 35}, {35}}}, {1, 2}, 10},
         {{"Transpose", 13, {{18, 35}}, {{"perm", integers({1, 0})}}}, {10}, 11},
         {{"Add", 14, {{35, 18}, {35, 18}}}, {11, 3}, 12},
         {{"Tanh", 13, {{35, 18}}}, {12}, 13}},
        {1, 2, 3});
  group("TransposesMeet", "map",
        {{{"Transpose", 13, {{18, 35}}, {{"perm", integers({1, 0})}}}, {1}, 10},
         {{"Mul", 14, {{35, 18}, {35, 18}}}, {10, 2}, 11},
         {{"Transpose", 13, {{18, 35}}, {{"perm", integers({1, 0})}}}, {3}, 12},
         {{"Add", 14, {{35, 18}, {35, 18}}}, {11, 12}, 13}},
        {1, 2, 3});
  group("ConcatOfTransposed", "map",
        {{{"Transpose", 13, {{18, 35}}, {{"perm", integers({1, 0})}}}, {1}, 10},
         {{"Concat", 13, {{35, 18}, {35, 24}}, {{"axis", integer(1)}}}, {10, 2}, 11}},
        {1, 2});
  group("PadOfTransposed", "map",
        {{{"Transpose", 13, {{18, 35}}, {{"perm", integers({1, 0})}}}, {1}, 10},
         {{"Pad", 21, {{35, 18}}, {}, {}, {{1, 2, 0, 3}}}, {10, 20}, 11}},
        {1});
  add("Scalar", "map", {"Add", 14, {{}, {}}});
  add("Pad", "map", {"Pad", 21, {{3, 5}}, {}, {}, {{0, 2, 1, 3}}});
  add("ConcatOfAnything", "map",
      {"Concat", 13, {{2, sym("n"), 8}, {2, sym("m"), 8}, {2, 3, 8}}, {{"axis", integer(1)}}},
      {n, {"m", 0, 99, 1}}, {{{"n", 1}, {"m", 0}}, {{"n", 3}, {"m", 5}}});
  add("ConcatOfRows", "map", {"Concat", 13, {{3, 40}, {3, 24}}, {{"axis", integer(1)}}});
  add("ConcatOfPairs", "map", {"Concat", 13, {{30, 1}, {30, 1}}, {{"axis", integer(1)}}});
  group("ChainOfMaps", "map",
        {{{"Mul", 14, {{2, 8, 16}, {16}}}, {1, 2}, 10},
         {{"Add", 14, {{2, 8, 16}, {16}}}, {10, 3}, 11},
         {{"Tanh", 13, {{2, 8, 16}}}, {11}, 12},
         {{"Mul", 14, {{2, 8, 16}, {2, 8, 16}}}, {12, 10}, 13}},
        {1, 2, 3});

  // Rows.
  add("Softmax", "rows", {"Softmax", 13, {{3, 50}}});
  add("SoftmaxOfAnything", "rows", {"Softmax", 13, {{2, 3, sym("n")}}}, {n}, some_n);
  add("SoftmaxOverTheMiddle", "rows", {"Softmax", 13, {{2, 5, 37}}, {{"axis", integer(1)}}});
  add("LogSoftmax", "rows", {"LogSoftmax", 13, {{3, 21}}});
  add("LayerNormalization", "rows", {"LayerNormalization", 17, {{2, 3, 40}, {40}, {40}}});
  add("LayerNormalizationOfAnyRows", "rows", {"LayerNormalization", 17, {{1, sym("n"), 24}, {24}, {24}}}, {n},
      some_n);
  add("LayerNormalizationWithStatistics", "rows",
      {"LayerNormalization", 17, {{4, 24}, {24}, {24}}, {}, {}, {}, 3});
  add("LayerNormalizationOverTwo", "rows",
      {"LayerNormalization", 17, {{3, 4, 6}, {4, 6}, {4, 6}}, {{"axis", integer(-2)}}});
  add("RMSNormalization", "rows", {"RMSNormalization", 23, {{5, 48}, {48}}});
  add("ReduceMean", "rows", {"ReduceMean", 18, {{3, 20, 5}}, {}, {}, {{1}}});
  add("ReduceMax", "rows", {"ReduceMax", 18, {{3, 4, 45}}, {}, {}, {{2}}});
  add("ReduceSumOfAll", "rows", {"ReduceSum", 13, {{3, 4, 45}}});
  add("ReduceSumOverTheFirst", "rows", {"ReduceSum", 13, {{sym("n"), 70}}, {}, {}, {{0}}}, {n}, some_n);
  add("ReduceL2", "rows", {"ReduceL2", 18, {{6, 33}}, {}, {}, {{1}}});
  add("ReduceSumOverOuterAndInner", "rows", {"ReduceSum", 13, {{3, 5, 20}}, {}, {}, {{0, 2}}});
  group("AddAndLayerNormalization", "rows",
        {{{"Add", 14, {{2, 3, 40}, {2, 3, 40}}}, {1, 2}, 10},
         {{"LayerNormalization", 17, {{2, 3, 40}, {40}, {40}}}, {10, 3, 4}, 11}},
        {1, 2, 3, 4});
  group("GeluAndSoftmax", "rows",
        {{{"Gelu", 20, {{6, 40}}}, {1}, 10}, {{"Softmax", 13, {{6, 40}}}, {10}, 11}}, {1});

  // Products.
  add("MatMul", "contraction", {"MatMul", 13, {{14, 20}, {20, 40}}});
  add("MatMulOfAnyRows", "contraction", {"MatMul", 13, {{1, sym("n"), 12}, {12, 40}}}, {n}, some_n,
      {false, true});
  add("MatMulOfBatches", "contraction", {"MatMul", 13, {{2, 3, 9, 8}, {2, 3, 8, 20}}});
  add("MatMulBroadcastsTheRight", "contraction", {"MatMul", 13, {{2, 3, 9, 8}, {3, 8, 20}}});
  add("MatMulBroadcastsTheLeft", "contraction", {"MatMul", 13, {{9, 8}, {3, 8, 20}}});
  add("MatMulWithVector", "rows", {"MatMul", 13, {{9, 8}, {8}}});
  add("VectorWithMatMul", "contraction", {"MatMul", 13, {{8}, {8, 33}}}, {}, {{}}, {false, true});
  add("Gemm", "contraction", {"Gemm", 13, {{9, 8}, {8, 20}, {20}}, {}}, {}, {{}}, {false, true, true});
  add("GemmTransposed", "contraction",
      {"Gemm",
       13,
       {{8, 9}, {20, 8}, {9, 1}},
       {{"transA", integer(1)}, {"transB", integer(1)}, {"alpha", real(0.5)}, {"beta", real(2)}}},
      {}, {{}}, {false, true, true});
  group("ProductBiasGelu", "contraction",
        {{{"MatMul", 13, {{1, sym("n"), 16}, {16, 64}}}, {1, 2}, 10},
         {{"Add", 14, {{1, sym("n"), 64}, {64}}}, {10, 3}, 11},
         {{"Gelu", 20, {{1, sym("n"), 64}}}, {11}, 12}},
        {1, 2, 3}, {n}, some_n, {false, true, true});
  group("ProductGeluOfOddColumns", "contraction",
        {{{"MatMul", 13, {{3, 13, 9}, {9, 37}}}, {1, 2}, 10}, {{"Gelu", 20, {{3, 13, 37}}}, {10}, 11}},
        {1, 2}, {}, {{}}, {false, true});
  group("ProductBiasResidual", "contraction",
        {{{"MatMul", 13, {{2, 7, 16}, {16, 48}}}, {1, 2}, 10},
         {{"Add", 14, {{48}, {2, 7, 48}}}, {3, 10}, 11},
         {{"Add", 14, {{2, 7, 48}, {2, 7, 48}}}, {11, 4}, 12}},
        {1, 2, 3, 4}, {}, {{}}, {false, true, true, false});
  // Columns are positions, two to four elements of the result apart.
  const auto stride = [&](int64_t by) {
    return std::map<std::string, ir::Attribute>{{"strides", integers({by, by})}};
  };
  add("TransposedConvolution", "contraction",
      {"ConvTranspose", 11, {{2, 5, 3, 37}, {5, 11, 2, 2}}, stride(2)}, {}, {{}}, {false, true});
  add("TransposedConvolutionByThree", "contraction",
      {"ConvTranspose", 11, {{1, 5, 4, 21}, {5, 2, 3, 3}}, stride(3)}, {}, {{}}, {false, true});
  add("TransposedConvolutionByFour", "contraction",
      {"ConvTranspose", 11, {{1, 3, 2, 50}, {3, 9, 4, 4}}, stride(4)}, {}, {{}}, {false, false});
  add("TransposedConvolutionToOneChannel", "contraction",
      {"ConvTranspose", 11, {{1, 6, 9, 16}, {6, 1, 2, 2}}, stride(2)}, {}, {{}}, {false, true});
  add("TransposedConvolutionOverlaps", "contraction+map",
      {"ConvTranspose", 11, {{1, 6, 5, 18}, {6, 4, 3, 3}}, stride(2)}, {}, {{}}, {false, true});
  group("TransposedConvolutionNormalized", "contraction",
        {{{"ConvTranspose", 11, {{1, 5, 6, 19}, {5, 8, 2, 2}, {8}}, stride(2)}, {1, 2, 3}, 10},
         {{"BatchNormalization", 15, {{1, 8, 12, 38}, {8}, {8}, {8}, {8}}}, {10, 4, 5, 6, 7}, 11},
         {{"Relu", 14, {{1, 8, 12, 38}}}, {11}, 12}},
        {1, 2, 3, 4, 5, 6, 7}, {}, {{}}, {false, true, true, true, true, true, true});
  group("HeadsSplitAndTransposed", "contraction+map",
        {{{"MatMul", 13, {{2, 7, 16}, {16, 24}}}, {1, 2}, 10},
         {{"Add", 14, {{2, 7, 24}, {24}}}, {10, 3}, 11},
         {{"Reshape", 14, {{2, 7, 24}}, {}, {}, {{2, 7, 3, 8}}}, {11, 20}, 12},
         {{"Transpose", 13, {{2, 7, 3, 8}}, {{"perm", integers({0, 2, 1, 3})}}}, {12}, 13}},
        {1, 2, 3}, {}, {{}}, {false, true, true});
  group("ScoresWithMask", "contraction",
        {{{"Transpose", 13, {{1, 2, sym("n"), 8}}, {{"perm", integers({0, 1, 3, 2})}}}, {2}, 9},
         {{"MatMul", 13, {{1, 2, 6, 8}, {1, 2, 8, sym("n")}}}, {1, 9}, 10},
         {{"Mul", 14, {{1, 2, 6, sym("n")}, {}}}, {10, 3}, 11},
         {{"Add", 14, {{1, 2, 6, sym("n")}, {1, 1, 6, sym("n")}}}, {11, 4}, 12}},
        {1, 2, 3, 4}, {n}, some_n);
  group("Attention", "attention",
        {{{"Transpose", 13, {{1, 2, 6, 8}}, {{"perm", integers({0, 1, 3, 2})}}}, {2}, 9},
         {{"MatMul", 13, {{1, 2, 6, 8}, {1, 2, 8, 6}}}, {1, 9}, 10},
         {{"Mul", 14, {{1, 2, 6, 6}, {}}}, {10, 3}, 11},
         {{"Softmax", 13, {{1, 2, 6, 6}}}, {11}, 12},
         {{"MatMul", 13, {{1, 2, 6, 6}, {1, 2, 6, 8}}}, {12, 4}, 13}},
        {1, 2, 3, 4});
  group("DecoderScores", "rows",
        {{{"Transpose", 13, {{1, 2, sym("n"), 8}}, {{"perm", integers({0, 1, 3, 2})}}}, {2}, 9},
         {{"MatMul", 13, {{1, 2, 1, 8}, {1, 2, 8, sym("n")}}}, {1, 9}, 10}},
        {1, 2}, {n}, some_n);
  add("DecoderMix", "contraction", {"MatMul", 13, {{1, 2, 1, sym("n")}, {1, 2, sym("n"), 8}}}, {n}, some_n);
  return cases;
}

Program any_rows_product() { return product(sym("m"), 3072, 768, true, true); }

search::Lowered lowered_case(const Case& c, const jit::Target& given) {
  jit::Target target = given;
  if (!c.caches.empty()) target.caches = c.caches;
  if (c.schedule) return search::lower_scheduled(c.make(), c.sizes, c.constant, target, *c.schedule);
  return search::lower(c.make(), c.sizes, c.constant, target, c.rank);
}

std::vector<Case> all_cases() {
  const ir::loop::Size m{"m", 1, 4096, 1};
  std::vector<Case> cases;
  cases.push_back({"SumOverRowsThatWereReduced",
                   "rows+rows",
                   [] {
                     return ir::parse(R"(program sum(x: f32[7, 20]) -> (t2) {
  t0: f32[7] = reduce max (i0: 7; r0: 20) { x[i0, r0] }
  t1: f32[1] = reduce sum (i0: 1; r0: 7) { t0[r0] }
  t2: f32[1, 1] = map (i0: 1, i1: 1) { t1[i1] * 2:f32 }
}
)");
                   },
                   {},
                   {}});
  cases.push_back({"ProductOfLiteralSizes",
                   "contraction",
                   [] { return product(13, 40, 8, false, false); },
                   {},
                   {false, true}});
  cases.push_back({"ProductOfOneColumnMore",
                   "contraction",
                   [] { return product(24, 193, 12, false, false); },
                   {},
                   {false, true}});
  cases.push_back({"ProductWithBias",
                   "contraction",
                   [] { return product(24, 96, 12, true, false); },
                   {},
                   {false, true, true}});
  cases.push_back({"ProductOfAnyRows",
                   "contraction",
                   [] { return product(sym("m"), 64, 7, true, true); },
                   {m},
                   {false, true, true},
                   {{{"m", 1}}, {{"m", 12}}, {{"m", 31}}}});
  cases.push_back({"ProductOfAnySizes",
                   "contraction",
                   [] { return product(sym("m"), sym("n"), sym("k"), true, false, true); },
                   {m, {"n", 1, 200}, {"k", 1, 200}},
                   {false, true, true},
                   {{{"m", 1}, {"n", 1}, {"k", 1}}, {{"m", 17}, {"n", 50}, {"k", 5}}}});
  const ir::loop::Size n{"n", 1, 4096, 1};
  std::vector<SizeValues> some_columns;
  for (const int64_t count : {1, 7, 8, 9, 16, 17, 33, 48, 86, 103}) some_columns.push_back({{"n", count}});
  cases.push_back({"ProductOfAnyColumns",
                   "contraction",
                   [] { return product(40, sym("n"), 12, true, true); },
                   {n},
                   {true, false, false},
                   some_columns});
  cases.push_back({"ProductOfColumnsAndTheirNeighbours",
                   "contraction",
                   [] { return product_of_neighbours(sym("n")); },
                   {n},
                   {},
                   some_columns});
  cases.push_back({"ProductOfAnyColumnsInPanels",
                   "contraction",
                   [] { return product(40, sym("n"), 12, false, false, true); },
                   {n},
                   {true, false},
                   some_columns});
  cases.push_back({"ProductOfAnyRowsAndColumns",
                   "contraction",
                   [] { return product(sym("m"), sym("n"), 12, false, false); },
                   {m, n},
                   {},
                   {{{"m", 1}, {"n", 1}}, {{"m", 23}, {"n", 20}}, {{"m", 9}, {"n", 86}}}});
  cases.push_back({"DeepProduct",
                   "contraction",
                   [] { return product(33, 20, 130, true, false); },
                   {},
                   {false, true, true}});
  cases.push_back({"DeepProductOfAnySizes",
                   "contraction",
                   [] { return product(sym("m"), 20, sym("k"), true, false); },
                   {{"m", 2, 16384, 1}, {"k", 2, 400, 1}},
                   {false, false, true},
                   {{{"m", 2}, {"k", 3}}, {{"m", 40}, {"k", 70}}, {{"m", 9}, {"k", 129}}}});
  cases.push_back({"MatrixVector",
                   "contraction",
                   [] { return product(1, 70, 9, true, false); },
                   {},
                   {false, true, true}});
  cases.push_back(
      {"RightSideFromTheRun", "contraction", [] { return product(40, 40, 8, true, false, true); }, {}, {}});
  cases.push_back(
      {"RightSideReadWhereItLies", "contraction", [] { return product(5, 40, 6, true, false); }, {}, {}});
  for (Case& c : operator_cases()) cases.push_back(std::move(c));
  for (Case& c : convolution_cases()) cases.push_back(std::move(c));
  for (Case& c : window_cases()) cases.push_back(std::move(c));
  for (Case& c : gather_cases()) cases.push_back(std::move(c));
  for (Case& c : placement_cases()) cases.push_back(std::move(c));
  for (Case& c : recurrence_cases()) cases.push_back(std::move(c));
  for (Case& c : type_cases()) cases.push_back(std::move(c));
  for (Case& c : quantized_cases()) cases.push_back(std::move(c));
  for (Case& c : attention_cases()) cases.push_back(std::move(c));
  for (Case& c : chained_windows_cases()) cases.push_back(std::move(c));
  for (Case& c : chained_product_cases()) cases.push_back(std::move(c));
  for (Case& c : mapped_windows_cases()) cases.push_back(std::move(c));
  for (Case& c : inverted_residual_cases()) cases.push_back(std::move(c));
  for (Case& c : scheduled_product_cases()) cases.push_back(std::move(c));
  for (Case& c : channels_last_cases()) cases.push_back(std::move(c));
  return cases;
}

}  // namespace axrun::tests
