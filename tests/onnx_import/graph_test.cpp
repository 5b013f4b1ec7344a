#include <algorithm>

#include "onnx_import/import.h"
#include "tests/onnx_import/models.h"

namespace axrun::onnx_import::test {
namespace {

TEST(Graph, OneNode) {
  const ir::Model model = import_proto(relu_model());
  const ir::Graph& graph = *model.graph;
  EXPECT_EQ(model.ir_version, 8);
  EXPECT_EQ(model.opsets, (std::map<std::string, int>{{"", 17}}));
  EXPECT_EQ(graph.name, "main");
  EXPECT_EQ(summary(graph), "Relu(x) -> y");
  EXPECT_EQ(graph.nodes[0].name, "relu");
  EXPECT_EQ(graph.nodes[0].version, 17);
  ASSERT_EQ(graph.inputs.size(), 1u);
  ASSERT_EQ(graph.outputs.size(), 1u);
  EXPECT_EQ(graph.value(graph.outputs[0]).name, "y");
  const ir::Value& x = graph.value(graph.inputs[0]);
  EXPECT_EQ(x.type, ir::ElementType::f32);
  EXPECT_EQ(ir::to_string(x.dims.value()), "[2]");
}

TEST(Graph, Producer) {
  ModelProto model = relu_model();
  model.set_producer_name("exporter");
  model.set_producer_version("1.2");
  EXPECT_EQ(import_proto(model).producer, "exporter 1.2");
}

TEST(Graph, AbsentInputsAndOutputs) {
  ModelProto model = empty_model();
  GraphProto& graph = *model.mutable_graph();
  add_input(graph, "x");
  add_node(graph, "Clip", {"x", "", "x"}, {"y"}, "clip");
  add_node(graph, "Dropout", {"y"}, {"z", ""}, "drop");
  add_output(graph, "z");
  EXPECT_EQ(summary(*import_proto(model).graph), "Clip(x, -, x) -> y; Dropout(y) -> z, -");
}

TEST(Graph, InitializersAreNoInputsInAnyVersion) {
  for (const int ir_version : {3, 8}) {
    ModelProto model = relu_model();
    model.set_ir_version(ir_version);
    add_input(*model.mutable_graph(), "w", {3, 1});
    add_initializer(*model.mutable_graph(), "w", {3});
    const auto graph = import_proto(model).graph;
    EXPECT_EQ(graph->inputs.size(), 1u);
    const ir::Value& w = value_named(*graph, "w");
    EXPECT_EQ(w.type, ir::ElementType::f32);
    EXPECT_EQ(ir::to_string(w.dims.value()), "[3]") << "the declared shape of an initializer does not count";
    EXPECT_EQ(w.constant.as<float>()[2], 2.0f);
  }
}

TEST(Graph, ConstantNodes) {
  ModelProto model = relu_model();
  GraphProto& graph = *model.mutable_graph();
  const auto constant = [&](const std::string& name, const std::string& attribute,
                            AttributeProto::AttributeType type) -> AttributeProto& {
    return add_attribute(add_node(graph, "Constant", {}, {name}), attribute, type);
  };
  *constant("tensor", "value", AttributeProto::TENSOR).mutable_t() = float_tensor("", {2, 2});
  constant("int", "value_int", AttributeProto::INT).set_i(-5);
  constant("float", "value_float", AttributeProto::FLOAT).set_f(0.5f);
  constant("string", "value_string", AttributeProto::STRING).set_s("text");
  auto& ints = constant("ints", "value_ints", AttributeProto::INTS);
  ints.add_ints(7);
  ints.add_ints(INT64_MIN);
  constant("floats", "value_floats", AttributeProto::FLOATS).add_floats(1.5f);
  constant("strings", "value_strings", AttributeProto::STRINGS).add_strings("a");
  constant("none", "value_ints", AttributeProto::INTS);
  auto* sparse = constant("sparse", "sparse_value", AttributeProto::SPARSE_TENSOR).mutable_sparse_tensor();
  sparse->add_dims(2);
  sparse->add_dims(3);
  *sparse->mutable_values() = float_tensor("", {2});
  auto* indices = sparse->mutable_indices();
  indices->set_data_type(TensorProto::INT64);
  indices->add_dims(2);
  indices->add_int64_data(1);
  indices->add_int64_data(5);

  const auto imported = import_proto(model).graph;
  EXPECT_EQ(summary(*imported), "Relu(x) -> y");
  const auto tensor = [&](const std::string& name) { return value_named(*imported, name).constant; };
  EXPECT_EQ(tensor("tensor").shape(), (ir::Shape{2, 2}));
  EXPECT_EQ(tensor("int").to_ints(), (std::vector<int64_t>{-5}));
  EXPECT_EQ(tensor("int").rank(), 0);
  EXPECT_EQ(tensor("float").get_real(0), 0.5);
  EXPECT_EQ(tensor("string").strings()[0], "text");
  EXPECT_EQ(tensor("ints").to_ints(), (std::vector<int64_t>{7, INT64_MIN}));
  EXPECT_EQ(tensor("floats").as<float>()[0], 1.5f);
  EXPECT_EQ(tensor("strings").shape(), (ir::Shape{1}));
  EXPECT_EQ(tensor("none").shape(), (ir::Shape{0}));
  EXPECT_EQ(tensor("sparse").shape(), (ir::Shape{2, 3}));
  EXPECT_EQ(tensor("sparse").as<float>()[5], 1.0f);
  EXPECT_EQ(tensor("sparse").as<float>()[4], 0.0f);
}

TEST(Graph, ConstantNodesThatAreWrong) {
  const auto with = [](const std::function<void(NodeProto&)>& change) {
    ModelProto model = relu_model();
    change(add_node(*model.mutable_graph(), "Constant", {}, {"c"}, "const"));
    return model;
  };
  expect_import_error(Fault::model, "Constant 'const' has 0 attributes", with([](NodeProto&) {}));
  expect_import_error(Fault::model, "Constant 'const' has the unknown attribute 'velue'",
                      with([](NodeProto& node) { add_int(node, "velue", 1); }));
  expect_import_error(Fault::model,
                      "Constant 'const' has as value_ints an integer where a list of integers is wanted",
                      with([](NodeProto& node) { add_int(node, "value_ints", 1); }));
  expect_import_error(Fault::model, "Constant 'const' has inputs", with([](NodeProto& node) {
                        node.add_input("x");
                        add_int(node, "value_int", 1);
                      }));
  expect_import_error(Fault::model, "Constant 'const' has 2 outputs", with([](NodeProto& node) {
                        node.add_output("d");
                        add_int(node, "value_int", 1);
                      }));
}

TEST(Graph, NodesAreSorted) {
  ModelProto model = empty_model();
  GraphProto& graph = *model.mutable_graph();
  add_input(graph, "x");
  add_node(graph, "Neg", {"c"}, {"d"});
  add_node(graph, "Abs", {"x"}, {"a"});
  add_node(graph, "Add", {"a", "b"}, {"c"});
  add_node(graph, "Relu", {"a"}, {"b"});
  add_output(graph, "d");
  EXPECT_EQ(summary(*import_proto(model).graph), "Abs(x) -> a; Relu(a) -> b; Add(a, b) -> c; Neg(c) -> d");
}

TEST(Graph, CyclesAreNamed) {
  ModelProto model = empty_model();
  GraphProto& graph = *model.mutable_graph();
  add_input(graph, "x");
  add_node(graph, "Neg", {"b"}, {"out"}, "tail");
  add_node(graph, "Add", {"x", "b"}, {"a"}, "first");
  add_node(graph, "Relu", {"a"}, {"b"}, "second");
  add_output(graph, "out");
  expect_import_error(Fault::model,
                      "graph 'main' has a cycle: Relu 'second' needs Add 'first' needs Relu 'second'", model);
}

TEST(Graph, NodeThatReadsItself) {
  ModelProto model = empty_model();
  GraphProto& graph = *model.mutable_graph();
  add_input(graph, "x");
  add_node(graph, "Add", {"x", "y"}, {"y"}, "loop");
  add_output(graph, "y");
  expect_import_error(Fault::model, "has a cycle: Add 'loop' needs Add 'loop'", model);
}

TEST(Graph, DefinedTwice) {
  ModelProto model = relu_model();
  add_node(*model.mutable_graph(), "Neg", {"x"}, {"y"}, "again");
  expect_import_error(Fault::model,
                      "the value 'y' is defined twice, the second time as an output of Neg 'again'", model);

  model = relu_model();
  add_input(*model.mutable_graph(), "x");
  expect_import_error(Fault::model, "the value 'x' is defined twice, the second time as a graph input",
                      model);

  model = relu_model();
  add_initializer(*model.mutable_graph(), "y", {1});
  expect_import_error(Fault::model, "the value 'y' is defined twice", model);

  model = relu_model();
  add_initializer(*model.mutable_graph(), "w", {1});
  add_node(*model.mutable_graph(), "Neg", {"x"}, {"w"}, "other");
  expect_import_error(Fault::model,
                      "the value 'w' is defined twice, the second time as an output of Neg 'other'", model);
}

/// A model with the Constant nodes and initializers `names`, of the values 0 and `last`.
ModelProto constants_model(const std::vector<std::pair<std::string, float>>& constants,
                           const std::vector<std::pair<std::string, float>>& initializers) {
  ModelProto model = relu_model();
  GraphProto& graph = *model.mutable_graph();
  for (const auto& [name, last] : constants) {
    TensorProto& tensor =
        *add_attribute(add_node(graph, "Constant", {}, {name}), "value", AttributeProto::TENSOR).mutable_t();
    tensor.set_data_type(TensorProto::FLOAT);
    tensor.add_dims(2);
    tensor.add_float_data(0);
    tensor.add_float_data(last);
  }
  for (const auto& [name, last] : initializers) {
    TensorProto& tensor = *graph.add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(TensorProto::FLOAT);
    tensor.add_dims(2);
    tensor.add_float_data(0);
    tensor.add_float_data(last);
  }
  add_node(graph, "Add", {"y", "c"}, {"z"}, "add");
  add_output(graph, "z");
  return model;
}

TEST(Graph, TheSameConstantMayBeDefinedTwice) {
  for (const auto& model :
       {constants_model({{"c", 1.0f}, {"c", 1.0f}}, {}), constants_model({}, {{"c", 1.0f}, {"c", 1.0f}}),
        constants_model({{"c", 1.0f}, {"d", 1.0f}, {"c", 1.0f}}, {{"c", 1.0f}})}) {
    std::vector<std::string> notes;
    ImportOptions options;
    options.notes = &notes;
    const auto graph = import_proto(model, options).graph;
    EXPECT_EQ(summary(*graph), "Relu(x) -> y; Add(y, c) -> z");
    EXPECT_EQ(value_named(*graph, "c").constant.as<float>()[1], 1.0f);
    EXPECT_EQ(notes, (std::vector<std::string>{"the constant 'c' is defined twice"}));
  }
  const std::string text =
      "the value 'c' is defined twice, as different constants (ONNX Runtime takes the last)";
  expect_import_error(Fault::model, text, constants_model({{"c", 1.0f}, {"c", 2.0f}}, {}));
  expect_import_error(Fault::model, text, constants_model({}, {{"c", 1.0f}, {"c", 2.0f}}));
  expect_import_error(Fault::model, text, constants_model({{"c", 2.0f}}, {{"c", 1.0f}}));
  ModelProto computed = constants_model({{"c", 1.0f}}, {});
  add_node(*computed.mutable_graph(), "Neg", {"x"}, {"c"}, "neg");
  expect_import_error(Fault::model,
                      "the value 'c' is defined twice, the second time as an output of Neg 'neg'", computed);
}

TEST(Graph, Undefined) {
  ModelProto model = relu_model();
  model.mutable_graph()->mutable_node(0)->set_input(0, "nowhere");
  expect_import_error(Fault::model, "Relu 'relu' reads 'nowhere', which nothing defines", model);

  model = relu_model();
  add_output(*model.mutable_graph(), "z");
  expect_import_error(Fault::model, "output 'z' of graph 'main' is never computed", model);

  model = relu_model();
  model.mutable_graph()->mutable_node(0)->clear_op_type();
  expect_import_error(Fault::model, "node 'relu' has no operator", model);
}

TEST(Graph, NodeNamesAreUnique) {
  ModelProto model = empty_model();
  GraphProto& graph = *model.mutable_graph();
  add_input(graph, "x");
  add_node(graph, "Relu", {"x"}, {"a"}, "same");
  add_node(graph, "Relu", {"x"}, {"b"}, "same");
  add_node(graph, "Relu", {"x"}, {"c"});
  add_node(graph, "Relu", {"x"}, {"d"}, "Relu_c");
  add_node(graph, "Relu", {"x"}, {"e"}, "same_2");
  add_output(graph, "a");
  std::vector<std::string> names;
  const auto imported = import_proto(model).graph;
  for (const ir::Node& node : imported->nodes) names.push_back(node.name);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
  EXPECT_TRUE(std::binary_search(names.begin(), names.end(), "same"));
  EXPECT_TRUE(std::binary_search(names.begin(), names.end(), "Relu_c"));
}

TEST(Graph, NamesThatAreNotText) {
  ModelProto model = empty_model();
  GraphProto& graph = *model.mutable_graph();
  const std::string latin = "gr\xfc\xdf\n";
  add_input(graph, latin);
  add_input(graph, "gr\\xfc\\xdf\\x0a");
  add_node(graph, "Relu", {latin}, {"\xc3\xa9t\xc3\xa9"}, "n");
  add_output(graph, "\xc3\xa9t\xc3\xa9");
  const auto imported = import_proto(model).graph;
  EXPECT_EQ(imported->value(imported->inputs[1]).name, "gr\\xfc\\xdf\\x0a");
  EXPECT_EQ(imported->value(imported->inputs[0]).name, "gr\\xfc\\xdf\\x0a_2");
  EXPECT_EQ(imported->value(imported->outputs[0]).name, "\xc3\xa9t\xc3\xa9");
  EXPECT_EQ(imported->nodes[0].inputs[0], imported->inputs[0]);

  graph.mutable_node(0)->set_input(0, std::string(500, 'x') + "\xff");
  expect_import_error(Fault::model, "reads '" + std::string(200, 'x') + "...', which nothing defines", model);
}

TEST(Graph, Attributes) {
  ModelProto model = relu_model();
  NodeProto& node = *model.mutable_graph()->mutable_node(0);
  add_int(node, "int", -3);
  add_attribute(node, "zero", AttributeProto::INT);
  add_attribute(node, "float", AttributeProto::FLOAT).set_f(0.25f);
  add_attribute(node, "string", AttributeProto::STRING).set_s("a\0b", 3);
  add_attribute(node, "ints", AttributeProto::INTS).add_ints(4);
  add_attribute(node, "no_ints", AttributeProto::INTS);
  add_attribute(node, "floats", AttributeProto::FLOATS).add_floats(2);
  add_attribute(node, "strings", AttributeProto::STRINGS).add_strings("s");
  *add_attribute(node, "tensor", AttributeProto::TENSOR).mutable_t() = float_tensor("", {3});
  *add_attribute(node, "tensors", AttributeProto::TENSORS).add_tensors() = float_tensor("", {1});
  add_attribute(node, "type", AttributeProto::TYPE_PROTO)
      .mutable_tp()
      ->mutable_sequence_type()
      ->mutable_elem_type()
      ->mutable_tensor_type()
      ->set_elem_type(TensorProto::INT64);
  AttributeProto& old = *node.add_attribute();  // IR version 1 has no types
  old.set_name("old");
  old.set_f(8);

  const auto imported = import_proto(model);
  const auto& attributes = imported.graph->nodes[0].attributes;
  EXPECT_EQ(attributes.at("int").integer, -3);
  EXPECT_EQ(attributes.at("zero").kind, ir::Attribute::Kind::integer);
  EXPECT_EQ(attributes.at("zero").integer, 0);
  EXPECT_EQ(attributes.at("float").real, 0.25);
  EXPECT_EQ(attributes.at("string").string, std::string("a\0b", 3));
  EXPECT_EQ(attributes.at("ints").integers, (std::vector<int64_t>{4}));
  EXPECT_EQ(attributes.at("no_ints").kind, ir::Attribute::Kind::integers);
  EXPECT_EQ(attributes.at("floats").reals, (std::vector<double>{2}));
  EXPECT_EQ(attributes.at("strings").strings, (std::vector<std::string>{"s"}));
  EXPECT_EQ(attributes.at("tensor").tensor.shape(), (ir::Shape{3}));
  EXPECT_EQ(attributes.at("tensors").tensors.size(), 1u);
  EXPECT_EQ(attributes.at("type").string, "seq(tensor(int64))");
  EXPECT_EQ(attributes.at("old").real, 8);
}

TEST(Graph, AttributesThatAreWrong) {
  const auto with = [](const std::function<void(NodeProto&)>& change) {
    ModelProto model = relu_model();
    change(*model.mutable_graph()->mutable_node(0));
    return model;
  };
  expect_import_error(Fault::model, "attribute 'a' of Relu 'relu' is said to be INT and holds FLOAT",
                      with([](NodeProto& node) { add_attribute(node, "a", AttributeProto::INT).set_f(1); }));
  expect_import_error(Fault::model, "attribute 'a' of Relu 'relu' is said to be TENSOR and is empty",
                      with([](NodeProto& node) { add_attribute(node, "a", AttributeProto::TENSOR); }));
  expect_import_error(Fault::model, "attribute 'a' of Relu 'relu' is given twice", with([](NodeProto& node) {
                        add_int(node, "a", 1);
                        add_int(node, "a", 1);
                      }));
  expect_import_error(Fault::model, "attribute 'a' of Relu 'relu' has no type",
                      with([](NodeProto& node) { node.add_attribute()->set_name("a"); }));
  expect_import_error(Fault::model, "attribute 'a' of Relu 'relu' has the unknown type 99",
                      with([](NodeProto& node) {
                        node.add_attribute()->set_name("a");
                        // The enum of this protobuf is closed: the number arrives as an unknown field.
                        node.mutable_attribute(0)->mutable_unknown_fields()->AddVarint(20, 99);
                      }));
  expect_import_error(
      Fault::model, "refers to an attribute of a function, but is in none",
      with([](NodeProto& node) { add_attribute(node, "a", AttributeProto::INT).set_ref_attr_name("b"); }));
}

// Text generation: what has no meaning here is refused when the model is loaded.
TEST(TextGeneration, IsRefusedAtOnceWhereItCannotRun) {
  for (const auto& [op, type, outputs] : {std::tuple{"BeamSearch", 3, 2},
                                          {"GreedySearch", 2, 1},
                                          {"WhisperBeamSearch", 1, 2},
                                          {"WhisperBeamSearch", 2, 4}}) {
    ModelProto model = empty_model();
    add_opset(model, "com.microsoft", 1);
    GraphProto& graph = *model.mutable_graph();
    add_input(graph, "ids", {1, 2});
    std::vector<std::string> names;
    for (int k = 0; k < outputs; ++k) names.push_back("y" + std::to_string(k));
    NodeProto& node = add_node(graph, op, {"ids"}, names, "search");
    node.set_domain("com.microsoft");
    add_int(node, "model_type", type);
    for (const std::string& name : names) add_output(graph, name);
    expect_import_error(Fault::unsupported, std::string(op) + " 'search': ", model);
  }
}

}  // namespace
}  // namespace axrun::onnx_import::test
