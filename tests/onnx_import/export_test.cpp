// What is written, read back by ONNX's own classes and by our reader.

#include "onnx_import/export.h"

#include "onnx_import/import.h"
#include "tests/onnx_import/models.h"

namespace axrun::onnx_import::test {
namespace {

ModelProto parse(const std::string& bytes) {
  ModelProto model;
  EXPECT_TRUE(model.ParseFromString(bytes));
  return model;
}

/// scale * x + 1 with a captured value and every kind of attribute.
ir::Model sample_model() {
  auto body = std::make_shared<ir::Graph>();
  body->name = "then";
  const auto value = [](ir::Graph& graph, const std::string& name) {
    ir::Value value;
    value.name = name;
    return graph.add_value(std::move(value));
  };
  const ir::ValueId inner_x = value(*body, "whatever");
  const ir::ValueId inner_y = value(*body, "y");
  body->nodes.push_back({.name = "abs",
                         .domain = "",
                         .op = "Abs",
                         .version = 17,
                         .inputs = {inner_x},
                         .outputs = {inner_y},
                         .attributes = {}});
  body->outputs = {inner_y};

  ir::Model model;
  model.opsets = {{"", 17}, {"ai.onnx.ml", 3}};
  model.producer = "tests";
  model.graph = std::make_shared<ir::Graph>();
  ir::Graph& graph = *model.graph;
  graph.name = "main";
  const ir::ValueId x = value(graph, "x");
  graph.value(x).type = ir::ElementType::f32;
  graph.value(x).dims = ir::Dims{ir::Dim(2), ir::Dim::symbol("batch size"), ir::Dim::symbol("n") + 1};
  const ir::ValueId scale = value(graph, "scale");
  graph.value(scale).constant = ir::Tensor::scalar(ir::ElementType::f32, 0.5);
  const ir::ValueId packed = value(graph, "packed");
  ir::Tensor nibbles = ir::Tensor::allocate(ir::ElementType::i4, {3});
  for (int k = 0; k < 3; ++k) nibbles.set_int(k, k - 2);
  graph.value(packed).constant = nibbles;
  const ir::ValueId words = value(graph, "words");
  graph.value(words).constant = ir::Tensor::from_strings({2}, {"a", ""});
  const ir::ValueId product = value(graph, "");
  const ir::ValueId y = value(graph, "y");
  graph.inputs = {x};
  graph.outputs = {y};
  ir::Node multiply{.name = "multiply",
                    .domain = "",
                    .op = "Mul",
                    .version = 17,
                    .inputs = {x, scale, ir::absent},
                    .outputs = {product},
                    .attributes = {}};
  const auto attribute = [&](const std::string& name, ir::Attribute::Kind kind) -> ir::Attribute& {
    multiply.attributes[name].kind = kind;
    return multiply.attributes[name];
  };
  using Kind = ir::Attribute::Kind;
  attribute("integer", Kind::integer).integer = INT64_MIN;
  attribute("real", Kind::real).real = 0.25;
  attribute("string", Kind::string).string = std::string("a\0b", 3);
  attribute("integers", Kind::integers).integers = {1, -1};
  attribute("reals", Kind::reals).reals = {1.5, -2};
  attribute("strings", Kind::strings).strings = {"s", ""};
  attribute("tensor", Kind::tensor).tensor = ir::Tensor::from_i64({7, 8});
  attribute("tensors", Kind::tensors).tensors = {ir::Tensor::from_i64({9})};
  ir::Node condition{.name = "if",
                     .domain = "",
                     .op = "If",
                     .version = 17,
                     .inputs = {product},
                     .outputs = {y},
                     .attributes = {}};
  body->captures = {{x, inner_x}};
  condition.attributes["then_branch"].kind = Kind::graph;
  condition.attributes["then_branch"].graph = body;
  graph.nodes = {multiply, condition};
  return model;
}

TEST(Export, IsReadByOnnx) {
  const ModelProto model = parse(export_memory(sample_model()));
  EXPECT_EQ(model.producer_name(), "tests");
  EXPECT_EQ(model.opset_import_size(), 2);
  const GraphProto& graph = model.graph();
  ASSERT_EQ(graph.input_size(), 1);
  const auto& shape = graph.input(0).type().tensor_type().shape();
  EXPECT_EQ(shape.dim(0).dim_value(), 2);
  EXPECT_EQ(shape.dim(1).dim_param(), "batch size");
  EXPECT_EQ(shape.dim(2).dim_param(), "n + 1");
  ASSERT_EQ(graph.initializer_size(), 3);
  EXPECT_EQ(graph.initializer(1).raw_data(), "\xfe" + std::string(1, '\0'))
      << "-2, -1 in one byte, 0 in the next";
  ASSERT_EQ(graph.node_size(), 2);
  EXPECT_EQ(graph.node(0).input(2), "");
  const GraphProto& body = graph.node(1).attribute(0).g();
  EXPECT_EQ(body.node(0).input(0), "x") << "captured values go by their outer name";
  EXPECT_EQ(body.node(0).output(0), "y_2") << "names of a body do not hide those of its enclosing graph";
  EXPECT_TRUE(graph.IsInitialized());
}

TEST(Export, ComesBack) {
  ImportOptions options;
  options.check_operators = false;
  const ir::Model model = import_bytes(export_memory(sample_model()), options);
  const ir::Graph& graph = *model.graph;
  EXPECT_EQ(summary(graph), "Mul(x, scale, -) -> value_4; If(value_4) -> y");
  EXPECT_EQ(ir::to_string(value_named(graph, "x").dims.value()), "[2, \"batch size\", \"n + 1\"]");
  EXPECT_EQ(value_named(graph, "packed").constant.to_ints(), (std::vector<int64_t>{-2, -1, 0}));
  EXPECT_EQ(value_named(graph, "words").constant.strings()[0], "a");
  const auto& attributes = graph.nodes[0].attributes;
  EXPECT_EQ(attributes.at("integer").integer, INT64_MIN);
  EXPECT_EQ(attributes.at("real").real, 0.25);
  EXPECT_EQ(attributes.at("string").string, std::string("a\0b", 3));
  EXPECT_EQ(attributes.at("integers").integers, (std::vector<int64_t>{1, -1}));
  EXPECT_EQ(attributes.at("reals").reals, (std::vector<double>{1.5, -2}));
  EXPECT_EQ(attributes.at("strings").strings, (std::vector<std::string>{"s", ""}));
  EXPECT_EQ(attributes.at("tensor").tensor.to_ints(), (std::vector<int64_t>{7, 8}));
  EXPECT_EQ(attributes.at("tensors").tensors.size(), 1u);
  const ir::Graph& body = *graph.nodes[1].attributes.at("then_branch").graph;
  ASSERT_EQ(body.captures.size(), 1u);
  EXPECT_EQ(graph.value(body.captures[0].first).name, "x");
  // Written a second time, nothing changes any more.
  const std::string once = export_memory(model);
  EXPECT_EQ(export_memory(import_bytes(once, options)), once);
}

TEST(Export, TypesOfInputs) {
  ModelProto model = relu_model();
  auto* sequence = model.mutable_graph()->add_input();
  sequence->set_name("s");
  sequence->mutable_type()
      ->mutable_sequence_type()
      ->mutable_elem_type()
      ->mutable_tensor_type()
      ->set_elem_type(7);
  NodeProto& optional = add_node(*model.mutable_graph(), "Optional", {}, {"o"});
  *add_attribute(optional, "type", AttributeProto::TYPE_PROTO).mutable_tp() = sequence->type();
  const ModelProto written = parse(export_memory(import_proto(model)));
  EXPECT_EQ(written.graph().input(1).type().sequence_type().elem_type().tensor_type().elem_type(), 7);
  const AttributeProto& type = written.graph().node(1).attribute(0);
  EXPECT_EQ(type.type(), AttributeProto::TYPE_PROTO);
  EXPECT_EQ(type.tp().sequence_type().elem_type().tensor_type().elem_type(), 7);
}

TEST(Export, WhatOnnxCannotSay) {
  ir::Model model = import_proto(relu_model());
  model.graph->nodes[0].version = 13;
  expect_error(Fault::user, "Relu 'relu' is of version 13 of ai.onnx, the model is not",
               [&] { export_memory(model); });
  model = import_proto(relu_model());
  model.graph->nodes[0].domain = "nowhere";
  expect_error(Fault::user, "is of version 17 of nowhere", [&] { export_memory(model); });
  model = import_proto(relu_model());
  model.graph->value(model.graph->inputs[0]).type = ir::ElementType::undefined;
  expect_error(Fault::user, "the type of input 'x' is not known", [&] { export_memory(model); });
  expect_error(Fault::user, "it has no graph", [] { export_memory(ir::Model()); });
}

TEST(Export, Files) {
  const TemporaryFolder folder;
  const ir::Model model = import_proto(relu_model());
  export_file(model, folder.file("model.onnx"));
  EXPECT_EQ(summary(*import_file(folder.file("model.onnx")).graph), "Relu(x) -> y");
  expect_error(Fault::user, "cannot be written: No such file",
               [&] { export_file(model, folder.file("no/model.onnx")); });
}

}  // namespace
}  // namespace axrun::onnx_import::test
