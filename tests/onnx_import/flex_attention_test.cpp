// FlexAttention of ai.onnx.preview with grouped heads: nodes that take its place give what the reference
// evaluator of the onnx package (1.23.2) gave for the same model.
#include "ir/infer.h"
#include "tests/onnx_import/models.h"

namespace axrun::onnx_import::test {
namespace {

constexpr const char* preview = "ai.onnx.preview";

/// The modifier x -> y whose nodes `fill` adds.
void add_modifier(NodeProto& node, const std::string& name, const std::function<void(GraphProto&)>& fill) {
  GraphProto& graph = *add_attribute(node, name, AttributeProto::GRAPH).mutable_g();
  graph.set_name(name);
  graph.add_input()->set_name("x");
  fill(graph);
  add_output(graph, "y");
}

void add_constant(GraphProto& graph, const std::string& name, const std::vector<float>& values) {
  NodeProto& node = add_node(graph, "Constant", {}, {name});
  AttributeProto& attribute = add_attribute(node, "value_floats", AttributeProto::FLOATS);
  for (const float value : values) attribute.add_floats(value);
}

/// Four query heads in groups of two; scale 0.75.
ModelProto flex_model(bool score, bool prob) {
  ModelProto model = empty_model(24);
  add_opset(model, preview, 1);
  GraphProto& graph = *model.mutable_graph();
  add_input(graph, "q", {1, 4, 2, 2});
  add_input(graph, "k", {1, 2, 3, 2});
  add_input(graph, "v", {1, 2, 3, 2});
  NodeProto& node = add_node(graph, "FlexAttention", {"q", "k", "v"}, {"result"}, "flex");
  node.set_domain(preview);
  add_attribute(node, "scale", AttributeProto::FLOAT).set_f(0.75F);
  if (score) {
    add_modifier(node, "score_mod", [](GraphProto& body) {
      add_constant(body, "half", {0.5F});
      add_node(body, "Tanh", {"x"}, {"t"});
      add_node(body, "Mul", {"t", "half"}, {"y"});
    });
  }
  if (prob) {
    add_modifier(node, "prob_mod", [](GraphProto& body) {
      add_constant(body, "weights", {2, 1, 0});
      add_node(body, "Mul", {"x", "weights"}, {"y"});
    });
  }
  add_output(graph, "result");
  return model;
}

/// (k * step mod 7 - 3) / 4.
ir::Tensor quarters(const ir::Shape& shape, int64_t step) {
  ir::Tensor tensor = ir::Tensor::allocate(ir::ElementType::f32, shape);
  for (int64_t k = 0; k < tensor.size(); ++k) tensor.set_real(k, static_cast<double>(k * step % 7 - 3) / 4);
  return tensor;
}

void expect_result(const ModelProto& proto, const std::vector<double>& wanted) {
  const ir::Model model = import_proto(proto);
  ir::Graph graph = *model.graph;
  for (const ir::Node& node : graph.nodes) EXPECT_NE(node.op, "FlexAttention");
  graph.value(graph.inputs[0]).constant = quarters({1, 4, 2, 2}, 3);
  graph.value(graph.inputs[1]).constant = quarters({1, 2, 3, 2}, 5);
  graph.value(graph.inputs[2]).constant = quarters({1, 2, 3, 2}, 2);
  ir::Inference inference(graph, {});
  inference.run();
  const ir::Tensor result = inference.fact(graph.outputs[0]).constant;
  ASSERT_TRUE(result.defined());
  EXPECT_EQ(result.type(), ir::ElementType::f32);
  ASSERT_EQ(result.shape(), (ir::Shape{1, 4, 2, 2}));
  for (int64_t k = 0; k < result.size(); ++k) {
    EXPECT_NEAR(result.get_real(k), wanted[static_cast<size_t>(k)], 1e-6) << k;
  }
}

TEST(FlexAttention, ScoresAreModified) {
  expect_result(flex_model(true, false),
                {-0.353651, 0.1463491, -0.3059087, 0.1940913, -0.2925472, 0.2074527, -0.2790738, 0.2209261,
                 0.353651, -0.3206598, 0.3630133, -0.3379508, 0.3723175, -0.3564022, 0.3811961, -0.3751697});
}

TEST(FlexAttention, ProbabilitiesAreModified) {
  expect_result(flex_model(false, true),
                {-0.6405097, -0.0039014, -0.1971556, 0.166693, -0.2096995, 0.1947772, -0.218925, 0.2233377,
                 0.1275897, -0.2306848, 0.1784969, -0.3038016, 0.235512, -0.3859419, 0.2978635, -0.4760017});
}

TEST(FlexAttention, BothAreModified) {
  expect_result(flex_model(true, true),
                {-0.5200083, 0.04597413, -0.3037763, 0.1290666, -0.3106228, 0.1404338, -0.3176774, 0.1518698,
                 0.1872936, -0.3220611, 0.2145738, -0.3610776, 0.2447635, -0.4043796, 0.2763898, -0.4498443});
}

TEST(FlexAttention, AnInputOfAnotherRankIsRefused) {
  ModelProto model = flex_model(true, false);
  auto& shape =
      *model.mutable_graph()->mutable_input(1)->mutable_type()->mutable_tensor_type()->mutable_shape();
  shape.mutable_dim()->RemoveLast();
  expect_import_error(Fault::model, "Q, K and V have four dimensions", model);
}

TEST(FlexAttention, AModifierOfTwoInputsIsRefused) {
  ModelProto model = flex_model(true, false);
  model.mutable_graph()->mutable_node(0)->mutable_attribute(1)->mutable_g()->add_input()->set_name("z");
  expect_import_error(Fault::model, "the graph 'score_mod' has not one input and one output", model);
}

}  // namespace
}  // namespace axrun::onnx_import::test
