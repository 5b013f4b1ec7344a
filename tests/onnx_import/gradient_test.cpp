// Gradient of ai.onnx.preview.training: what it is replaced by is evaluated in double precision by the
// operators' definitions and compared with differences of the function itself, and so are derivatives of
// derivatives. Longer than other files: half of it is the table of operators.
#include <fmt/format.h>

#include <cmath>
#include <random>
#include <variant>

#include "ir/infer.h"
#include "tests/onnx_import/models.h"

namespace axrun::onnx_import::test {
namespace {

using Setting = std::variant<int64_t, double, std::string, std::vector<int64_t>>;

/// One operator: `inputs` names its inputs, x0, x1, ... (doubles, differentiated), i0, ... (integers, 1-D
/// unless `index_dims` says otherwise), or "".
struct Case {
  std::string name, op;
  std::vector<std::vector<int64_t>> shapes;  ///< of x0, x1, ...
  std::vector<std::string> inputs = {"x0"};
  std::vector<std::pair<std::string, Setting>> attributes = {};
  std::vector<std::vector<int64_t>> indices = {};  ///< i0, i1, ...
  std::vector<std::vector<int64_t>> index_dims = {};
  double low = -1, high = 1;
  int opset = 21;
  bool twice = true;  ///< derivatives of derivatives, too
  std::vector<std::string> outputs = {"y"};
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

const std::vector<Case>& cases() {
  static const std::vector<Case>& table = *new std::vector<Case>{
      {"add", "Add", {{2, 3}, {3}}, {"x0", "x1"}},
      {"sub", "Sub", {{3}, {2, 1, 3}}, {"x0", "x1"}},
      {"mul", "Mul", {{2, 1}, {1, 3}}, {"x0", "x1"}},
      {"div", "Div", {{2, 3}, {2, 1}}, {"x0", "x1"}, {}, {}, {}, 0.5, 2},
      {"pow", "Pow", {{2, 3}, {3}}, {"x0", "x1"}, {}, {}, {}, 0.5, 2},
      {"sum", "Sum", {{2}, {3, 1}, {1}}, {"x0", "x1", "x2"}},
      {"mean", "Mean", {{2}, {3, 1}}, {"x0", "x1"}},
      {"max", "Max", {{2, 3}, {3}, {2, 1}}, {"x0", "x1", "x2"}},
      {"min", "Min", {{2, 3}, {3}}, {"x0", "x1"}},
      {"prelu", "PRelu", {{2, 3}, {3}}, {"x0", "x1"}},
      {"clip", "Clip", {{8}, {}, {}}, {"x0", "x1", "x2"}},
      {"clip_6", "Clip", {{8}}, {"x0"}, {{"min", -0.5}, {"max", 0.4}}, {}, {}, -1, 1, 6 + 1},
      {"neg", "Neg", {{4}}},
      {"abs", "Abs", {{4}}},
      {"exp", "Exp", {{4}}},
      {"log", "Log", {{4}}, {"x0"}, {}, {}, {}, 0.3, 2},
      {"sqrt", "Sqrt", {{4}}, {"x0"}, {}, {}, {}, 0.3, 2},
      {"reciprocal", "Reciprocal", {{4}}, {"x0"}, {}, {}, {}, 0.3, 2},
      {"sin", "Sin", {{4}}},
      {"cos", "Cos", {{4}}},
      {"tan", "Tan", {{4}}},
      {"asin", "Asin", {{4}}, {"x0"}, {}, {}, {}, -0.8, 0.8},
      {"acos", "Acos", {{4}}, {"x0"}, {}, {}, {}, -0.8, 0.8},
      {"atan", "Atan", {{4}}},
      {"sinh", "Sinh", {{4}}},
      {"cosh", "Cosh", {{4}}},
      {"asinh", "Asinh", {{4}}},
      {"acosh", "Acosh", {{4}}, {"x0"}, {}, {}, {}, 1.5, 3},
      {"atanh", "Atanh", {{4}}, {"x0"}, {}, {}, {}, -0.8, 0.8},
      {"erf", "Erf", {{4}}},
      {"relu", "Relu", {{8}}},
      {"leaky_relu", "LeakyRelu", {{8}}, {"x0"}, {{"alpha", 0.3}}},
      {"thresholded_relu", "ThresholdedRelu", {{8}}, {"x0"}, {{"alpha", 0.2}}},
      {"elu", "Elu", {{8}}, {"x0"}, {{"alpha", 0.7}}},
      {"selu", "Selu", {{8}}},
      {"celu", "Celu", {{8}}, {"x0"}, {{"alpha", 0.7}}},
      {"sigmoid", "Sigmoid", {{4}}},
      {"tanh", "Tanh", {{4}}},
      {"softplus", "Softplus", {{4}}},
      {"softsign", "Softsign", {{4}}},
      {"hard_sigmoid", "HardSigmoid", {{8}}, {"x0"}, {{"alpha", 0.6}}},
      {"hard_swish", "HardSwish", {{8}}, {"x0"}, {}, {}, {}, -4, 4},
      {"swish", "Swish", {{4}}, {"x0"}, {{"alpha", 1.5}}, {}, {}, -2, 2, 24},
      {"mish", "Mish", {{4}}},
      {"gelu", "Gelu", {{4}}},
      {"gelu_tanh", "Gelu", {{4}}, {"x0"}, {{"approximate", "tanh"}}},
      {"shrink", "Shrink", {{8}}, {"x0"}, {{"bias", 0.2}}},
      {"identity", "Identity", {{4}}},
      {"dropout", "Dropout", {{4}}},
      {"matmul", "MatMul", {{2, 3}, {3, 4}}, {"x0", "x1"}},
      {"matmul_batches", "MatMul", {{2, 1, 2, 3}, {3, 3, 2}}, {"x0", "x1"}},
      {"matmul_vector_left", "MatMul", {{3}, {2, 3, 2}}, {"x0", "x1"}},
      {"matmul_vector_right", "MatMul", {{2, 2, 3}, {3}}, {"x0", "x1"}},
      {"matmul_vectors", "MatMul", {{3}, {3}}, {"x0", "x1"}},
      {"gemm", "Gemm", {{2, 3}, {3, 4}, {4}}, {"x0", "x1", "x2"}, {{"alpha", 0.5}, {"beta", 2.0}}},
      {"gemm_turned", "Gemm", {{3, 2}, {4, 3}}, {"x0", "x1"}, {{"transA", 1}, {"transB", 1}}},
      {"gemm_left_turned", "Gemm", {{3, 2}, {3, 4}, {2, 1}}, {"x0", "x1", "x2"}, {{"transA", 1}}},
      {"einsum", "Einsum", {{2, 3}, {4, 3}}, {"x0", "x1"}, {{"equation", "ij,kj->ik"}}},
      {"einsum_alone", "Einsum", {{2, 3}, {4, 3}}, {"x0", "x1"}, {{"equation", "ij,kj"}}},
      {"einsum_sum", "Einsum", {{2, 3}, {3, 4}}, {"x0", "x1"}, {{"equation", "ij,jk->k"}}},
      {"conv", "Conv", {{2, 2, 5}, {3, 2, 3}, {3}}, {"x0", "x1", "x2"}},
      {"conv_strides",
       "Conv",
       {{2, 2, 6, 5}, {3, 2, 3, 2}},
       {"x0", "x1"},
       {{"strides", std::vector<int64_t>{2, 1}},
        {"pads", std::vector<int64_t>{1, 0, 0, 2}},
        {"dilations", std::vector<int64_t>{1, 2}}}},
      {"conv_groups",
       "Conv",
       {{2, 4, 5}, {6, 2, 2}, {6}},
       {"x0", "x1", "x2"},
       {{"group", 2}, {"strides", std::vector<int64_t>{2}}}},
      {"conv_same",
       "Conv",
       {{1, 1, 5, 4}, {1, 1, 3, 2}},
       {"x0", "x1"},
       {{"auto_pad", "SAME_UPPER"}, {"strides", std::vector<int64_t>{2, 2}}}},
      {"conv_transpose",
       "ConvTranspose",
       {{2, 2, 3}, {2, 3, 3}, {3}},
       {"x0", "x1", "x2"},
       {{"strides", std::vector<int64_t>{2}},
        {"pads", std::vector<int64_t>{1, 0}},
        {"output_padding", std::vector<int64_t>{1}}}},
      {"conv_transpose_groups", "ConvTranspose", {{1, 4, 3}, {4, 2, 2}}, {"x0", "x1"}, {{"group", 2}}},
      {"max_pool",
       "MaxPool",
       {{1, 2, 5, 4}},
       {"x0"},
       {{"kernel_shape", std::vector<int64_t>{2, 3}}, {"pads", std::vector<int64_t>{0, 1, 0, 1}}},
       {},
       {},
       -40,
       40},
      {"average_pool",
       "AveragePool",
       {{2, 2, 5, 4}},
       {"x0"},
       {{"kernel_shape", std::vector<int64_t>{2, 3}},
        {"pads", std::vector<int64_t>{1, 1, 0, 1}},
        {"strides", std::vector<int64_t>{2, 1}}}},
      {"average_pool_pads",
       "AveragePool",
       {{2, 2, 5}},
       {"x0"},
       {{"kernel_shape", std::vector<int64_t>{3}},
        {"pads", std::vector<int64_t>{1, 1}},
        {"count_include_pad", 1}}},
      {"global_average", "GlobalAveragePool", {{2, 2, 3, 2}}},
      {"global_max", "GlobalMaxPool", {{2, 2, 3, 2}}},
      {"reshape", "Reshape", {{2, 3}}, {"x0", "i0"}, {}, {{3, 2}}},
      {"flatten", "Flatten", {{2, 3, 2}}},
      {"squeeze", "Squeeze", {{2, 1, 3}}, {"x0", "i0"}, {}, {{1}}},
      {"unsqueeze", "Unsqueeze", {{2, 3}}, {"x0", "i0"}, {}, {{0, 3}}},
      {"transpose", "Transpose", {{2, 3, 4}}, {"x0"}, {{"perm", std::vector<int64_t>{1, 2, 0}}}},
      {"transpose_all", "Transpose", {{2, 3, 4}}},
      {"concat", "Concat", {{2, 3}, {2, 1}}, {"x0", "x1"}, {{"axis", -1}}},
      {"split", "Split", {{5, 2}}, {"x0", "i0"}, {{"axis", 0}}, {{2, 3}}, {}, -1, 1, 21, true, {"y", "z"}},
      {"slice", "Slice", {{5, 4}}, {"x0", "i0", "i1", "i2", "i3"}, {}, {{4, 1}, {0, 4}, {0, 1}, {-2, 1}}},
      {"slice_1",
       "Slice",
       {{5, 4}},
       {"x0"},
       {{"starts", std::vector<int64_t>{1}}, {"ends", std::vector<int64_t>{3}}},
       {},
       {},
       -1,
       1,
       9},
      {"gather", "Gather", {{4, 3}}, {"x0", "i0"}, {{"axis", 1}}, {{2, 0, 2}}},
      {"gather_elements", "GatherElements", {{3, 2}}, {"x0", "i0"}, {{"axis", 0}}, {{2, 0, 2, 1}}, {{2, 2}}},
      {"gather_nd", "GatherND", {{3, 2}}, {"x0", "i0"}, {}, {{2, 0, 0, 1, 2, 0}}, {{3, 2}}},
      {"tile", "Tile", {{2, 3}}, {"x0", "i0"}, {}, {{2, 1}}},
      {"expand", "Expand", {{2, 1}}, {"x0", "i0"}, {}, {{3, 1, 4}}},
      {"depth_to_space", "DepthToSpace", {{1, 4, 2, 1}}, {"x0"}, {{"blocksize", 2}}},
      {"space_to_depth", "SpaceToDepth", {{1, 1, 2, 4}}, {"x0"}, {{"blocksize", 2}}},
      {"pad", "Pad", {{2, 3}}, {"x0", "i0"}, {}, {{1, -1, 0, 2}}},
      {"pad_reflect", "Pad", {{4, 3}}, {"x0", "i0"}, {{"mode", "reflect"}}, {{2, 0, 1, 1}}},
      {"scatter_elements",
       "ScatterElements",
       {{3, 2}, {2, 2}},
       {"x0", "i0", "x1"},
       {},
       {{2, 0, 1, 1}},
       {{2, 2}}},
      {"scatter_nd", "ScatterND", {{3, 2}, {2, 2}}, {"x0", "i0", "x1"}, {}, {{2, 0}}, {{2, 1}}},
      {"scatter_nd_add",
       "ScatterND",
       {{3, 2}, {2, 2}},
       {"x0", "i0", "x1"},
       {{"reduction", "add"}},
       {{2, 2}},
       {{2, 1}}},
      {"cumsum", "CumSum", {{2, 4}}, {"x0", "i0"}, {{"exclusive", 1}}, {{1}}, {{}}},
      {"trilu", "Trilu", {{3, 4}}, {"x0"}, {{"upper", 0}}},
      {"reduce_sum", "ReduceSum", {{2, 3, 2}}, {"x0", "i0"}, {{"keepdims", 0}}, {{0, -1}}},
      {"reduce_sum_all", "ReduceSum", {{2, 3}}, {"x0"}, {{"keepdims", 0}}},
      {"reduce_mean", "ReduceMean", {{2, 3, 2}}, {"x0", "i0"}, {}, {{1}}},
      {"reduce_mean_13",
       "ReduceMean",
       {{2, 3}},
       {"x0"},
       {{"axes", std::vector<int64_t>{1}}, {"keepdims", 0}},
       {},
       {},
       -1,
       1,
       13},
      {"reduce_max", "ReduceMax", {{2, 3}}, {"x0", "i0"}, {{"keepdims", 0}}, {{1}}},
      {"reduce_min", "ReduceMin", {{2, 3}}},
      {"reduce_l1", "ReduceL1", {{2, 3}}, {"x0", "i0"}, {}, {{1}}},
      {"reduce_l2", "ReduceL2", {{2, 3}}, {"x0", "i0"}, {{"keepdims", 0}}, {{0}}},
      {"reduce_sum_square", "ReduceSumSquare", {{2, 3}}, {"x0", "i0"}, {}, {{1}}},
      {"reduce_log_sum", "ReduceLogSum", {{2, 3}}, {"x0", "i0"}, {}, {{1}}, {}, 0.5, 2},
      {"reduce_log_sum_exp", "ReduceLogSumExp", {{2, 3}}, {"x0", "i0"}, {}, {{1}}},
      {"softmax", "Softmax", {{2, 3}}},
      {"softmax_1", "Softmax", {{2, 3, 2}}, {"x0"}, {{"axis", 1}}, {}, {}, -1, 1, 11},
      {"log_softmax", "LogSoftmax", {{2, 3}}, {"x0"}, {{"axis", 0}}},
      {"layer_normalization", "LayerNormalization", {{3, 4}, {4}, {4}}, {"x0", "x1", "x2"}},
      {"rms_normalization",
       "RMSNormalization",
       {{2, 3, 2}, {3, 2}},
       {"x0", "x1"},
       {{"axis", 1}},
       {},
       {},
       -1,
       1,
       23},
      {"batch_normalization",
       "BatchNormalization",
       {{2, 3, 2}, {3}, {3}, {3}, {3}},
       {"x0", "x1", "x2", "x3", "x4"},
       {},
       {},
       {},
       0.3,
       2},
      {"instance_normalization", "InstanceNormalization", {{2, 3, 4}, {3}, {3}}, {"x0", "x1", "x2"}},
      {"group_normalization",
       "GroupNormalization",
       {{2, 4, 3}, {4}, {4}},
       {"x0", "x1", "x2"},
       {{"num_groups", 2}}},
      {"mean_variance", "MeanVarianceNormalization", {{2, 3, 2, 2}}},
      {"negative_log_likelihood",
       "NegativeLogLikelihoodLoss",
       {{3, 4}, {4}},
       {"x0", "i0", "x1"},
       {{"ignore_index", 2}},
       {{1, 2, 3}},
       {},
       0.2,
       1},
      {"cross_entropy",
       "SoftmaxCrossEntropyLoss",
       {{3, 4}},
       {"x0", "i0"},
       {{"reduction", "sum"}},
       {{1, 0, 3}}},
  };
  return table;
}

void set(NodeProto& node, const std::string& name, const Setting& setting) {
  if (const auto* number = std::get_if<int64_t>(&setting)) {
    add_int(node, name, *number);
  } else if (const auto* real = std::get_if<double>(&setting)) {
    add_attribute(node, name, AttributeProto::FLOAT).set_f(static_cast<float>(*real));
  } else if (const auto* text = std::get_if<std::string>(&setting)) {
    add_attribute(node, name, AttributeProto::STRING).set_s(*text);
  } else {
    AttributeProto& attribute = add_attribute(node, name, AttributeProto::INTS);
    for (const int64_t value : std::get<std::vector<int64_t>>(setting)) attribute.add_ints(value);
  }
}

NodeProto& add_gradient(GraphProto& graph, const std::vector<std::string>& inputs,
                        const std::vector<std::string>& xs, const std::string& y,
                        const std::vector<std::string>& outputs) {
  NodeProto& node = add_node(graph, "Gradient", inputs, outputs);
  node.set_domain("ai.onnx.preview.training");
  AttributeProto& names = add_attribute(node, "xs", AttributeProto::STRINGS);
  for (const std::string& x : xs) names.add_strings(x);
  set(node, "y", y);
  return node;
}

/// The sum of the squares of what the operator gives, its derivatives, and derivatives of these.
ModelProto model_of(const Case& c, bool known_sizes) {
  ModelProto model = empty_model(c.opset);
  add_opset(model, "ai.onnx.preview.training", 1);
  GraphProto& graph = *model.mutable_graph();
  std::vector<std::string> xs, slopes, curvatures;
  for (size_t k = 0; k < c.shapes.size(); ++k) {
    xs.push_back(fmt::format("x{}", k));
    slopes.push_back(fmt::format("d{}", k));
    curvatures.push_back(fmt::format("dd{}", k));
    add_input(graph, xs.back(), c.shapes[k], TensorProto::DOUBLE);
    if (known_sizes) continue;
    auto* shape =
        graph.mutable_input(static_cast<int>(k))->mutable_type()->mutable_tensor_type()->mutable_shape();
    for (int axis = 0; axis < shape->dim_size(); ++axis)
      shape->mutable_dim(axis)->set_dim_param(fmt::format("n{}", c.shapes[k][static_cast<size_t>(axis)]));
  }
  for (size_t k = 0; k < c.indices.size(); ++k) {
    TensorProto& tensor = *graph.add_initializer();
    tensor.set_name(fmt::format("i{}", k));
    tensor.set_data_type(TensorProto::INT64);
    const auto count = static_cast<int64_t>(c.indices[k].size());
    for (const int64_t size : k < c.index_dims.size() ? c.index_dims[k] : std::vector<int64_t>{count})
      tensor.add_dims(size);
    for (const int64_t value : c.indices[k]) tensor.add_int64_data(value);
  }
  NodeProto& node = add_node(graph, c.op, c.inputs, c.outputs);
  for (const auto& [name, setting] : c.attributes) set(node, name, setting);
  std::vector<std::string> squares;
  for (const std::string& y : c.outputs) {
    squares.push_back(y + "_square");
    add_node(graph, "Mul", {y, y}, {y + "_curved"});
    add_node(graph, "ReduceSum", {y + "_curved"}, {squares.back()}).clear_attribute();
    add_int(*graph.mutable_node(graph.node_size() - 1), "keepdims", 0);
  }
  add_node(graph, "Sum", squares, {"loss"});
  add_gradient(graph, xs, xs, "loss", slopes);
  add_output(graph, "loss");
  for (const std::string& slope : slopes) add_output(graph, slope);
  if (!c.twice) return model;
  std::vector<std::string> sums;
  for (const std::string& slope : slopes) {
    sums.push_back(slope + "_sum");
    add_node(graph, "Mul", {slope, slope}, {slope + "_square"});
    add_node(graph, "ReduceSum", {slope + "_square"}, {sums.back()});
    add_int(*graph.mutable_node(graph.node_size() - 1), "keepdims", 0);
  }
  add_node(graph, "Sum", sums, {"roughness"});
  add_gradient(graph, xs, xs, "roughness", curvatures);
  add_output(graph, "roughness");
  for (const std::string& curvature : curvatures) add_output(graph, curvature);
  return model;
}

/// Every output of the graph at these inputs: what inference folds.
std::vector<ir::Tensor> evaluate(const ir::Model& model, const std::vector<ir::Tensor>& inputs) {
  ir::Graph graph = *model.graph;
  for (size_t k = 0; k < inputs.size(); ++k) graph.value(graph.inputs[k]).constant = inputs[k];
  ir::Inference inference(graph, {});
  inference.run();
  std::vector<ir::Tensor> outputs;
  for (const ir::ValueId id : graph.outputs) {
    outputs.push_back(inference.fact(id).constant);
    EXPECT_TRUE(outputs.back().defined()) << graph.value(id).name;
  }
  return outputs;
}

std::vector<ir::Tensor> random_inputs(const Case& c) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> within(c.low, c.high);
  std::vector<ir::Tensor> inputs;
  for (const auto& shape : c.shapes) {
    inputs.push_back(ir::Tensor::allocate(ir::ElementType::f64, shape));
    for (int64_t i = 0; i < inputs.back().size(); ++i) inputs.back().set_real(i, within(random));
  }
  return inputs;
}

/// The derivative of output `of` by one element, with what it may be off by: two central differences of the
/// fourth order tell how far the first one is from its limit; the rest is rounding.
std::pair<double, double> difference(const ir::Model& model, const std::vector<ir::Tensor>& inputs, size_t of,
                                     size_t k, int64_t i) {
  double largest = 0;
  const auto at = [&](double step) {
    std::vector<ir::Tensor> moved = inputs;
    moved[k] = inputs[k].clone();
    moved[k].set_real(i, inputs[k].get_real(i) + step);
    const double value = evaluate(model, moved)[of].get_real(0);
    largest = std::max(largest, std::fabs(value));
    return value;
  };
  const auto slope = [&](double h) { return (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h); };
  constexpr double h = 1e-3, roundings = 1000;
  const double coarse = slope(h), fine = slope(h / 2);
  return {fine, std::fabs(coarse - fine) + roundings * 0x1p-53 * (1 + largest) / h};
}

class Gradient : public testing::TestWithParam<Case> {};

void check(const Case& c, const ir::Model& model) {
  for (const ir::Node& node : model.graph->nodes) EXPECT_NE(node.op, "Gradient");
  const std::vector<ir::Tensor> inputs = random_inputs(c);
  const std::vector<ir::Tensor> outputs = evaluate(model, inputs);
  for (size_t order = 0; order < (c.twice ? 2 : 1); ++order) {
    const size_t of = order * (inputs.size() + 1);
    for (size_t k = 0; k < inputs.size(); ++k) {
      const ir::Tensor& got = outputs[of + 1 + k];
      ASSERT_EQ(got.shape(), inputs[k].shape()) << "order " << order + 1 << " by x" << k;
      for (int64_t i = 0; i < got.size(); ++i) {
        const auto [want, bound] = difference(model, inputs, of, k, i);
        EXPECT_NEAR(got.get_real(i), want, bound)
            << "order " << order + 1 << " by element " << i << " of x" << k;
        EXPECT_LT(bound, 1e-4 * (1 + std::fabs(want))) << "a kink is near: choose other inputs";
      }
    }
  }
}

TEST_P(Gradient, IsTheLimitOfDifferences) { check(GetParam(), import_proto(model_of(GetParam(), true))); }

/// Which dimensions were broadcast is then found out by the run.
TEST_P(Gradient, NeedsNoSizesButThoseOfWindows) {
  Case c = GetParam();
  // Nothing is known of a product whose batches may be broadcast: not how it would be turned, either.
  if (c.name == "matmul_batches") c.twice = false;
  const bool is_window = c.op.starts_with("Conv") || c.op == "AveragePool";
  if (is_window) {
    expect_import_error(Fault::unsupported, "only a run can tell", model_of(c, false));
  } else {
    check(c, import_proto(model_of(c, false)));
  }
}

/// y = a (b + a) at a = 2, b = 3 of the model's inputs, c = 5 and d = 7 beside them.
ModelProto quadratic_model() {
  ModelProto model = empty_model(21);
  add_opset(model, "ai.onnx.preview.training", 1);
  for (const char* name : {"a", "b", "c", "d"})
    add_input(*model.mutable_graph(), name, {}, TensorProto::DOUBLE);
  add_node(*model.mutable_graph(), "Add", {"b", "a"}, {"sum"});
  add_node(*model.mutable_graph(), "Mul", {"a", "sum"}, {"y"});
  return model;
}

std::vector<double> results_of(ModelProto& model, const std::vector<std::string>& outputs) {
  for (const std::string& output : outputs) add_output(*model.mutable_graph(), output);
  std::vector<ir::Tensor> inputs;
  for (const double value : {2.0, 3.0, 5.0, 7.0})
    inputs.push_back(ir::Tensor::scalar(ir::ElementType::f64, value));
  std::vector<double> results;
  for (const ir::Tensor& tensor : evaluate(import_proto(model), inputs))
    results.push_back(tensor.get_real(0));
  return results;
}

void add_zs(NodeProto& gradient, const std::string& z) {
  add_attribute(gradient, "zs", AttributeProto::STRINGS).add_strings(z);
}

TEST(GradientNodes, OthersThanXsAreConstant) {
  ModelProto model = quadratic_model();
  add_gradient(*model.mutable_graph(), {"a"}, {"a"}, "y", {"by_a"});
  add_gradient(*model.mutable_graph(), {"b", "a"}, {"b", "a"}, "y", {"by_b", ""});
  EXPECT_EQ(results_of(model, {"y", "by_a", "by_b"}), (std::vector<double>{10, 7, 2}));
}

TEST(GradientNodes, AreTakenWhereTheInputsSay) {
  ModelProto model = quadratic_model();
  add_gradient(*model.mutable_graph(), {"c"}, {"a"}, "y", {"by_a"});
  add_zs(add_gradient(*model.mutable_graph(), {"a", "d"}, {"a"}, "y", {"by_a_with_d"}), "b");
  // At a = 5 with b = 3; at a = 2 with b = 7. y itself stays.
  EXPECT_EQ(results_of(model, {"by_a", "by_a_with_d", "y"}), (std::vector<double>{13, 11, 10}));
}

TEST(GradientNodes, StopAtIntermediateValues) {
  ModelProto model = quadratic_model();
  add_gradient(*model.mutable_graph(), {"sum", "a"}, {"sum", "a"}, "y", {"by_sum", "by_a"});
  EXPECT_EQ(results_of(model, {"by_sum", "by_a"}), (std::vector<double>{2, 5}));
}

TEST(GradientNodes, AreZeroWhereNothingDepends) {
  ModelProto model = quadratic_model();
  add_gradient(*model.mutable_graph(), {"c", "a"}, {"c", "a"}, "sum", {"by_c", "by_a"});
  EXPECT_EQ(results_of(model, {"by_c", "by_a"}), (std::vector<double>{0, 1}));
}

TEST(GradientNodes, MayComeBeforeWhatTheyDifferentiate) {
  ModelProto model = quadratic_model();
  add_gradient(*model.mutable_graph(), {"a"}, {"a"}, "by_a", {"twice"});
  add_gradient(*model.mutable_graph(), {"a"}, {"a"}, "y", {"by_a"});
  EXPECT_EQ(results_of(model, {"twice"}), std::vector<double>{2});
}

TEST(GradientNodes, NameWhatHasNoDerivative) {
  ModelProto model = quadratic_model();
  add_int(add_node(*model.mutable_graph(), "Mod", {"y", "a"}, {"z"}, "rest"), "fmod", 1);
  add_gradient(*model.mutable_graph(), {"a"}, {"a"}, "z", {"by_a"});
  expect_import_error(Fault::unsupported, "no derivative is known of Mod 'rest'", model);
}

TEST(GradientNodes, AreRefusedWhereTheyMeanNothing) {
  ModelProto unknown = quadratic_model();
  add_gradient(*unknown.mutable_graph(), {"a"}, {"q"}, "y", {"by_a"});
  expect_import_error(Fault::model, "'q' is not defined", unknown);
  ModelProto count = quadratic_model();
  add_gradient(*count.mutable_graph(), {"a"}, {"a", "b"}, "y", {"by_a"});
  expect_import_error(Fault::model, "1 inputs for 2 names", count);
  ModelProto itself = quadratic_model();
  add_gradient(*itself.mutable_graph(), {"a"}, {"a"}, "by_a", {"by_a"});
  expect_import_error(Fault::model, "depends on its own result", itself);
}

TEST(GradientNodes, UnderstandTheNamesOfAFunction) {
  ModelProto model = quadratic_model();
  onnx::FunctionProto& function = *model.add_functions();
  function.set_name("Slope");
  function.set_domain("here");
  function.add_input("p");
  function.add_output("q");
  for (const auto& [domain, version] :
       {std::pair<const char*, int>{"", 21}, {"ai.onnx.preview.training", 1}}) {
    auto* import = function.add_opset_import();
    import->set_domain(domain);
    import->set_version(version);
  }
  GraphProto nodes;
  add_node(nodes, "Mul", {"p", "p"}, {"y"});
  add_gradient(nodes, {"p"}, {"p"}, "y", {"q"});
  for (const NodeProto& node : nodes.node()) *function.add_node() = node;
  add_opset(model, "here", 1);
  add_node(*model.mutable_graph(), "Slope", {"a"}, {"slope"}).set_domain("here");
  EXPECT_EQ(results_of(model, {"slope", "y"}), (std::vector<double>{4, 10}));
}

INSTANTIATE_TEST_SUITE_P(Operators, Gradient, testing::ValuesIn(cases()),
                         [](const auto& c) { return c.param.name; });

}  // namespace
}  // namespace axrun::onnx_import::test
