// If, Loop and Scan: graphs inside graphs.

#include "onnx_import/import.h"
#include "tests/onnx_import/models.h"

namespace axrun::onnx_import::test {
namespace {

GraphProto& add_body(NodeProto& node, const std::string& attribute) {
  GraphProto& body = *add_attribute(node, attribute, AttributeProto::GRAPH).mutable_g();
  body.set_name(attribute);
  return body;
}

const ir::Graph& body_of(const ir::Node& node, const std::string& attribute) {
  return *node.attributes.at(attribute).graph;
}

std::string captures(const ir::Graph& outer, const ir::Graph& body) {
  std::string text;
  for (const auto& [from, to] : body.captures) {
    text += (text.empty() ? "" : ", ") + outer.value(from).name + "->" + body.value(to).name;
  }
  return text;
}

/// cond, x -> If { If { Add(x, late) } } -> y, where `late` is computed after the If in the file.
ModelProto nested_model() {
  ModelProto model = empty_model();
  GraphProto& graph = *model.mutable_graph();
  add_input(graph, "cond", {}, TensorProto::BOOL);
  add_input(graph, "x", {5});
  NodeProto& outer = add_node(graph, "If", {"cond"}, {"y"}, "outer");
  GraphProto& first = add_body(outer, "then_branch");
  NodeProto& inner = add_node(first, "If", {"cond"}, {"z"}, "inner");
  add_output(first, "z");
  GraphProto& second = add_body(inner, "then_branch");
  add_node(second, "Add", {"x", "late"}, {"sum"}, "add");
  add_output(second, "sum");
  GraphProto& third = add_body(inner, "else_branch");
  add_output(third, "x");
  GraphProto& fourth = add_body(outer, "else_branch");
  add_node(fourth, "Neg", {"w"}, {"n"});
  add_output(fourth, "n");
  add_initializer(graph, "w", {5});
  add_node(graph, "Relu", {"x"}, {"late"}, "relu");
  add_output(graph, "y");
  return model;
}

TEST(Bodies, CapturesThroughEveryLevel) {
  const auto graph = import_proto(nested_model()).graph;
  ASSERT_EQ(summary(*graph), "Relu(x) -> late; If(cond) -> y") << "what a body reads comes before its node";
  const ir::Node& outer = graph->nodes[1];
  const ir::Graph& first = body_of(outer, "then_branch");
  EXPECT_EQ(captures(*graph, first), "cond->cond, x->x, late->late");
  EXPECT_EQ(summary(first), "If(cond) -> z");
  const ir::Graph& second = body_of(first.nodes[0], "then_branch");
  EXPECT_EQ(captures(first, second), "x->x, late->late");
  EXPECT_EQ(summary(second), "Add(x, late) -> sum");
  const ir::Graph& third = body_of(first.nodes[0], "else_branch");
  EXPECT_EQ(captures(first, third), "x->x") << "an output can be a value of an enclosing graph";
  EXPECT_EQ(third.outputs[0], third.captures[0].second);
  EXPECT_EQ(second.value(second.captures[0].second).type, ir::ElementType::f32);
}

TEST(Bodies, ConstantsAreSharedInsteadOfCaptured) {
  const auto graph = import_proto(nested_model()).graph;
  const ir::Graph& fourth = body_of(graph->nodes[1], "else_branch");
  EXPECT_EQ(captures(*graph, fourth), "");
  EXPECT_EQ(value_named(fourth, "w").constant.data(), value_named(*graph, "w").constant.data());
}

TEST(Bodies, OwnNamesHideOuterOnes) {
  ModelProto model = nested_model();
  GraphProto& second = *model.mutable_graph()
                            ->mutable_node(0)
                            ->mutable_attribute(0)
                            ->mutable_g()
                            ->mutable_node(0)
                            ->mutable_attribute(0)
                            ->mutable_g();
  add_node(second, "Abs", {"cond"}, {"x"}, "own");
  const auto graph = import_proto(model).graph;
  const ir::Graph& first = body_of(graph->nodes[1], "then_branch");
  const ir::Graph& body = body_of(first.nodes[0], "then_branch");
  EXPECT_EQ(summary(body), "Abs(cond) -> x; Add(x, late) -> sum");
  EXPECT_EQ(captures(first, body), "late->late, cond->cond");
}

TEST(Bodies, LoopBody) {
  ModelProto model = empty_model();
  GraphProto& graph = *model.mutable_graph();
  add_input(graph, "n", {}, TensorProto::INT64);
  add_input(graph, "x");
  NodeProto& loop = add_node(graph, "Loop", {"n", "", "x"}, {"y"}, "loop");
  GraphProto& body = add_body(loop, "body");
  add_input(body, "iteration", {}, TensorProto::INT64);
  body.add_input()->set_name("again");
  add_input(body, "state", {9, 9});
  add_input(body, "step", {7});
  add_initializer(body, "step", {1});
  add_node(body, "Add", {"state", "step"}, {"next"});
  add_output(body, "again");
  add_output(body, "next");
  add_output(graph, "y");

  const auto imported = import_proto(model).graph;
  const ir::Graph& inner = body_of(imported->nodes[0], "body");
  ASSERT_EQ(inner.inputs.size(), 3u) << "an input with an initializer is a constant";
  EXPECT_EQ(inner.value(inner.inputs[0]).type, ir::ElementType::i64);
  EXPECT_EQ(inner.value(inner.inputs[1]).type, ir::ElementType::undefined);
  EXPECT_EQ(inner.value(inner.inputs[2]).type, ir::ElementType::f32);
  EXPECT_FALSE(inner.value(inner.inputs[2]).dims.has_value()) << "stored shapes of a body are hints";
  EXPECT_TRUE(value_named(inner, "step").constant.defined());
  EXPECT_EQ(inner.outputs[0], inner.inputs[1]);
}

/// What a body declares of what ONNX Runtime takes from there.
TEST(Bodies, DimsOfALoopsFirstInputsAndOfItsOutputsCount) {
  ModelProto model = empty_model();
  GraphProto& graph = *model.mutable_graph();
  add_input(graph, "n", {}, TensorProto::INT64);
  NodeProto& loop = add_node(graph, "Loop", {"n", "", "n"}, {"y", "z"}, "loop");
  GraphProto& body = add_body(loop, "body");
  add_input(body, "iteration", {1}, TensorProto::INT64);
  add_input(body, "again", {1}, TensorProto::BOOL);
  add_input(body, "state", {}, TensorProto::INT64);
  add_node(body, "Unsqueeze", {"iteration", "axes"}, {"scanned"});
  add_initializer(body, "axes", {1});
  add_output(body, "again");
  add_output(body, "state");
  add_output(body, "scanned");
  auto& declared = *body.mutable_output(2)->mutable_type()->mutable_tensor_type();
  declared.set_elem_type(TensorProto::INT64);
  declared.mutable_shape()->add_dim()->set_dim_value(1);
  declared.mutable_shape()->add_dim()->set_dim_param("k");
  add_output(graph, "y");

  const auto imported = import_proto(model).graph;
  const ir::Graph& inner = body_of(imported->nodes[0], "body");
  for (size_t k : {0, 1}) EXPECT_EQ(ir::to_string(inner.value(inner.inputs[k]).dims.value()), "[1]");
  const ir::Value& scanned = inner.value(inner.outputs[2]);
  EXPECT_EQ(scanned.type, ir::ElementType::i64);
  EXPECT_EQ(ir::to_string(scanned.dims.value()), "[1, k]");
}

TEST(Bodies, CycleThroughABody) {
  ModelProto model = nested_model();
  model.mutable_graph()->mutable_node(1)->set_input(0, "y");
  expect_import_error(Fault::model, "has a cycle: If 'outer' needs Relu 'relu' needs If 'outer'", model);
}

TEST(Bodies, Undefined) {
  ModelProto model = nested_model();
  GraphProto& first = *model.mutable_graph()->mutable_node(0)->mutable_attribute(0)->mutable_g();
  first.mutable_node(0)->mutable_attribute(0)->mutable_g()->mutable_node(0)->set_input(1, "z2");
  expect_import_error(Fault::model, "Add 'add' reads 'z2', which nothing defines", model);
}

TEST(Bodies, InnerNamesAreNotSeenOutside) {
  ModelProto model = nested_model();
  model.mutable_graph()->mutable_node(1)->set_input(0, "sum");
  expect_import_error(Fault::model, "Relu 'relu' reads 'sum', which nothing defines", model);
}

ModelProto deep_model(int depth) {
  ModelProto model = empty_model();
  GraphProto* graph = model.mutable_graph();
  add_input(*graph, "cond", {}, TensorProto::BOOL);
  for (int k = 0; k < depth; ++k) {
    NodeProto& node = add_node(*graph, "If", {"cond"}, {"y" + std::to_string(k)});
    add_output(*graph, "y" + std::to_string(k));
    graph = &add_body(node, "then_branch");
  }
  add_output(*graph, "cond");
  return model;
}

TEST(Bodies, NestingIsLimited) {
  EXPECT_NO_THROW(import_proto(deep_model(64)));
  expect_import_error(Fault::unsupported, "nested more than 64 deep", deep_model(65));
  // Deeper than protobuf itself would read.
  expect_import_error(Fault::unsupported, "nested more than 64 deep", deep_model(2000));
}

TEST(Bodies, NodesAreCountedInAllGraphs) {
  ImportOptions options;
  options.max_nodes = 4;
  EXPECT_NO_THROW(import_proto(deep_model(4), options));
  expect_error(Fault::unsupported, "the model has more than 4 nodes",
               [&] { import_proto(deep_model(5), options); });
}

}  // namespace
}  // namespace axrun::onnx_import::test
