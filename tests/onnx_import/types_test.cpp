// Types, shapes and versions: what a model declares.

#include "onnx_import/import.h"
#include "tests/onnx_import/models.h"

namespace axrun::onnx_import::test {
namespace {

onnx::TensorShapeProto& add_shaped_input(GraphProto& graph, const std::string& name) {
  add_input(graph, name, {});
  return *graph.mutable_input(graph.input_size() - 1)->mutable_type()->mutable_tensor_type()->mutable_shape();
}

std::string dims_of(const ir::Graph& graph, const std::string& name) {
  const ir::Value& value = value_named(graph, name);
  return value.dims ? ir::to_string(*value.dims) : "unknown rank";
}

TEST(Types, Dims) {
  ModelProto model = relu_model();
  GraphProto& graph = *model.mutable_graph();
  auto& a = add_shaped_input(graph, "a");
  a.add_dim()->set_dim_value(3);
  a.add_dim()->set_dim_param("batch");
  a.add_dim()->set_dim_param("?");
  a.add_dim()->set_dim_value(-1);
  a.add_dim();
  a.add_dim()->set_dim_value(0);
  auto& b = add_shaped_input(graph, "b");
  b.add_dim()->set_dim_param("?");
  b.add_dim()->set_dim_param("batch");
  b.add_dim()->set_dim_param("a_dim_2");
  b.add_dim()->set_dim_param("2 * n");
  auto& c = add_shaped_input(graph, "c");
  c.add_dim()->set_dim_param("");
  add_input(graph, "scalar", {});
  add_input(graph, "any_rank", {});
  graph.mutable_input(graph.input_size() - 1)->mutable_type()->mutable_tensor_type()->clear_shape();

  const auto imported = import_proto(model).graph;
  EXPECT_EQ(dims_of(*imported, "a"), "[3, batch, a_dim_2_2, a_dim_3, a_dim_4, 0]");
  EXPECT_EQ(dims_of(*imported, "b"), "[b_dim_0, batch, a_dim_2, \"2 * n\"]");
  EXPECT_EQ(dims_of(*imported, "c"), "[c_dim_0]");
  EXPECT_EQ(dims_of(*imported, "scalar"), "[]");
  EXPECT_EQ(dims_of(*imported, "any_rank"), "unknown rank");
  EXPECT_EQ(imported->value(imported->inputs[1]).dims.value()[1],
            imported->value(imported->inputs[2]).dims.value()[1]);
}

TEST(Types, StoredShapesOfResultsAreHints) {
  ModelProto model = relu_model();
  GraphProto& graph = *model.mutable_graph();
  auto* info = graph.add_value_info();
  info->set_name("y");
  info->mutable_type()->mutable_tensor_type()->set_elem_type(TensorProto::INT64);
  info->mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(77);
  *graph.mutable_output(0) = *info;
  const auto imported = import_proto(model).graph;
  EXPECT_EQ(value_named(*imported, "y").type, ir::ElementType::undefined);
  EXPECT_EQ(dims_of(*imported, "y"), "unknown rank");
}

/// What outputs are declared as is told beside the graph.
TEST(Types, DeclaredOutputs) {
  ModelProto model = relu_model();
  GraphProto& graph = *model.mutable_graph();
  auto* y = graph.mutable_output(0)->mutable_type()->mutable_tensor_type();
  y->set_elem_type(TensorProto::INT64);
  y->mutable_shape()->add_dim()->set_dim_value(77);
  y->mutable_shape()->add_dim()->set_dim_param("batch");
  y->mutable_shape()->add_dim()->set_dim_param("?");
  add_output(graph, "x");
  graph.mutable_output(1)->clear_type();
  const ImportedModel imported = import_proto(model);
  ASSERT_EQ(imported.declared_outputs.size(), 2u);
  EXPECT_EQ(imported.declared_outputs[0].name, "y");
  EXPECT_EQ(imported.declared_outputs[0].type, ir::ElementType::i64);
  EXPECT_EQ(ir::to_string(imported.declared_outputs[0].dims.value()), "[77, batch, y_dim_2]");
  EXPECT_EQ(imported.declared_outputs[1].type, ir::ElementType::undefined);
  EXPECT_FALSE(imported.declared_outputs[1].dims.has_value());
}

TEST(Types, KindsOfInputs) {
  ModelProto model = relu_model();
  GraphProto& graph = *model.mutable_graph();
  const auto add = [&](const std::string& name) {
    auto* input = graph.add_input();
    input->set_name(name);
    return input->mutable_type();
  };
  add("sequence")
      ->mutable_sequence_type()
      ->mutable_elem_type()
      ->mutable_tensor_type()
      ->set_elem_type(TensorProto::INT32);
  add("optional")
      ->mutable_optional_type()
      ->mutable_elem_type()
      ->mutable_sequence_type()
      ->mutable_elem_type()
      ->mutable_tensor_type()
      ->set_elem_type(TensorProto::DOUBLE);
  auto* map = add("map")->mutable_map_type();
  map->set_key_type(TensorProto::STRING);
  map->mutable_value_type()->mutable_tensor_type()->set_elem_type(TensorProto::FLOAT);
  const auto imported = import_proto(model).graph;
  EXPECT_EQ(value_named(*imported, "sequence").kind, ir::ValueKind::sequence);
  EXPECT_EQ(value_named(*imported, "sequence").type, ir::ElementType::i32);
  EXPECT_EQ(value_named(*imported, "optional").kind, ir::ValueKind::optional);
  EXPECT_EQ(value_named(*imported, "optional").type, ir::ElementType::f64);
  EXPECT_EQ(value_named(*imported, "map").kind, ir::ValueKind::map);
  EXPECT_EQ(value_named(*imported, "map").type, ir::ElementType::f32);
}

TEST(Types, KindsOfOutputs) {
  ModelProto model = empty_model();
  GraphProto& graph = *model.mutable_graph();
  add_input(graph, "x");
  add_node(graph, "SequenceConstruct", {"x"}, {"y"});
  add_output(graph, "y");
  auto* type = graph.mutable_output(0)->mutable_type()->mutable_sequence_type()->mutable_elem_type();
  type->mutable_tensor_type()->set_elem_type(TensorProto::FLOAT);
  const auto imported = import_proto(model).graph;
  EXPECT_EQ(value_named(*imported, "y").kind, ir::ValueKind::sequence);
  EXPECT_EQ(value_named(*imported, "y").type, ir::ElementType::f32);
}

TEST(Types, InputsThatAreWrong) {
  ModelProto model = relu_model();
  model.mutable_graph()->mutable_input(0)->clear_type();
  expect_import_error(Fault::model, "graph input 'x' has no type", model);

  model = relu_model();
  model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(99);
  expect_import_error(Fault::model, "graph input 'x' has the unknown element type 99", model);

  model = relu_model();
  model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_sequence_type();
  expect_import_error(Fault::model, "graph input 'x' has the incomplete type seq(?)", model);

  model = relu_model();
  add_input(*model.mutable_graph(), "huge", {int64_t{1} << 40, int64_t{1} << 40});
  expect_import_error(Fault::model,
                      "graph input 'huge': the shape [1099511627776, 1099511627776] is too large", model);

  model = relu_model();
  add_input(*model.mutable_graph(), "deep", std::vector<int64_t>(65, 1));
  expect_import_error(Fault::unsupported, "graph input 'deep': rank 65", model);

  model = relu_model();
  add_input(*model.mutable_graph(), "c", {1}, TensorProto::COMPLEX64);
  model.mutable_graph()->add_input()->set_name("s");
  model.mutable_graph()->mutable_input(2)->mutable_type()->mutable_sparse_tensor_type()->set_elem_type(1);
  expect_import_error(Fault::unsupported, "graph input 'c': element type complex64", model);
  expect_import_error(Fault::unsupported, "graph input 's': type sparse_tensor(float)", model);
}

TEST(Types, TypesThatNestTooDeeply) {
  ModelProto model = relu_model();
  auto* type = model.mutable_graph()->mutable_input(0)->mutable_type();
  for (int k = 0; k < 65; ++k) type = type->mutable_sequence_type()->mutable_elem_type();
  expect_import_error(Fault::model, "a type is nested too deeply", model);
}

TEST(Opsets, OfTwoVersionsTheHigherCounts) {
  ModelProto model = relu_model();
  add_opset(model, "ai.onnx", 13);
  EXPECT_EQ(import_proto(model).graph->nodes[0].version, 17);
  add_opset(model, "ai.onnx", 18);
  EXPECT_EQ(import_proto(model).graph->nodes[0].version, 18);
  EXPECT_EQ(import_proto(model).opsets, (std::map<std::string, int>{{"", 18}}));
}

TEST(Opsets, DomainsOfNodes) {
  ModelProto model = relu_model();
  model.mutable_graph()->mutable_node(0)->set_domain("ai.onnx");
  EXPECT_EQ(import_proto(model).graph->nodes[0].domain, "");
  model.mutable_graph()->mutable_node(0)->set_domain("com.example");
  expect_import_error(Fault::model, "Relu 'relu': the model does not import the domain com.example", model);
}

TEST(Opsets, MissingOnesAreTheFirstBeforeVersion3) {
  ModelProto model = relu_model();
  model.clear_opset_import();
  expect_import_error(Fault::model,
                      "Relu 'relu': the model does not import the domain ai.onnx, nor any other", model);
  model.set_ir_version(2);
  EXPECT_EQ(import_proto(model).graph->nodes[0].version, 1);
}

/// What importing notes of a model.
std::vector<std::string> notes_of(const ModelProto& model) {
  std::vector<std::string> notes;
  ImportOptions options;
  options.notes = &notes;
  import_proto(model, options);
  return notes;
}

TEST(Opsets, DomainsThatAreNotImportedHaveTheNewestVersion) {
  ModelProto model = relu_model();
  EXPECT_TRUE(notes_of(model).empty());
  for (const char* name : {"a", "b"})
    add_node(*model.mutable_graph(), "Gelu", {"x"}, {name}).set_domain("com.microsoft");
  const ir::Model imported = import_proto(model);
  EXPECT_EQ(imported.graph->nodes[1].version, 1);
  EXPECT_EQ(imported.opsets, (std::map<std::string, int>{{"", 17}, {"com.microsoft", 1}}));
  const auto notes = notes_of(model);
  ASSERT_EQ(notes.size(), 1u) << "once";
  EXPECT_EQ(
      notes[0],
      "the domain com.microsoft is not imported: version 1 is taken, the newest known; ONNX Runtime does "
      "the same");

  ModelProto encoders = empty_model();
  add_input(*encoders.mutable_graph(), "x");
  add_node(*encoders.mutable_graph(), "Binarizer", {"x"}, {"y"}).set_domain("ai.onnx.ml");
  add_output(*encoders.mutable_graph(), "y");
  EXPECT_EQ(import_proto(encoders).graph->nodes[0].version, 5);
  ModelProto standard = relu_model();
  standard.mutable_opset_import(0)->set_domain("ai.onnx.ml");
  standard.mutable_opset_import(0)->set_version(1);
  EXPECT_EQ(import_proto(standard).graph->nodes[0].version, 28);
}

TEST(Opsets, VersionsThatAreWrong) {
  ModelProto beyond = relu_model();
  beyond.mutable_opset_import(0)->set_version(int64_t{1} << 31);
  expect_import_error(Fault::model, "the model imports version 2147483648 of ai.onnx", beyond);
  // What no node uses may be anything, as in ONNX Runtime.
  for (const int64_t version : {0, -1}) {
    ModelProto model = relu_model();
    add_opset(model, "com.microsoft", version);
    EXPECT_EQ(import_proto(model).graph->nodes[0].version, 17);
    EXPECT_EQ(notes_of(model), (std::vector<std::string>{"version " + std::to_string(version) +
                                                         " of com.microsoft is imported: there is none"}));
    add_node(*model.mutable_graph(), "Gelu", {"x"}, {"z"}, "gelu").set_domain("com.microsoft");
    expect_import_error(
        Fault::model,
        "Gelu 'gelu': the model imports version 0 of com.microsoft, which has no operators; ONNX "
        "Runtime refuses it, too",
        model);
    model = relu_model();
    model.mutable_opset_import(0)->set_version(version);
    expect_import_error(Fault::model, "Relu 'relu': the model imports version 0 of ai.onnx", model);
    add_opset(model, "ai.onnx", 13);
    EXPECT_EQ(import_proto(model).graph->nodes[0].version, 13);
  }
  ModelProto model = relu_model();
  model.mutable_opset_import(0)->set_version(1000);
  expect_import_error(Fault::unsupported, "opset 1000 of ai.onnx: the newest known one is", model);
  ImportOptions options;
  options.check_operators = false;
  EXPECT_EQ(import_proto(model, options).graph->nodes[0].version, 1000);
}

TEST(Opsets, HeadersThatAreWrong) {
  ModelProto model = relu_model();
  model.clear_ir_version();
  expect_import_error(Fault::model, "the model has no IR version", model);
  model.set_ir_version(-4);
  expect_import_error(Fault::model, "the model has IR version -4", model);
  model = relu_model();
  model.clear_graph();
  expect_import_error(Fault::model, "the model has no graph", model);
  expect_error(Fault::model, "the model file is empty", [] { import_bytes(""); });
}

TEST(Unsupported, EverythingIsListedAtOnce) {
  ModelProto model = relu_model();
  add_opset(model, "com.example", 3);
  add_opset(model, "ai.onnx.ml", 2);
  GraphProto& graph = *model.mutable_graph();
  add_node(graph, "Unheard", {"x"}, {"a"}, "first");
  add_node(graph, "Unheard", {"x"}, {"b"}).set_domain("ai.onnx.ml");
  add_node(graph, "Fancy", {"x"}, {"c"}, "third").set_domain("com.example");
  add_initializer(graph, "w", {1}).set_data_type(TensorProto::COMPLEX64);
  graph.mutable_unknown_fields()->AddVarint(99, 1);
  GraphProto& body =
      *add_attribute(add_node(graph, "If", {"x"}, {"d"}, "if"), "then_branch", AttributeProto::GRAPH)
           .mutable_g();
  add_node(body, "Unheard", {"x"}, {"inner"}, "inside");
  add_output(body, "inner");

  for (const char* line : {
           "the model uses 6 things that axrun does not support:",
           "\n  Unheard 'first' (ai.onnx 17): unknown operator",
           "\n  Unheard 'Unheard_b' (ai.onnx.ml 2): unknown operator",
           "\n  Fancy 'third' (com.example 3): unknown domain",
           "\n  initializer 'w': element type complex64",
           "\n  field 99 of GraphProto: newer than",
           "\n  Unheard 'inside' (ai.onnx 17): unknown operator",
       }) {
    expect_import_error(Fault::unsupported, line, model);
  }
}

TEST(Unsupported, OperatorsThatCameLater) {
  ModelProto model = relu_model();
  model.mutable_opset_import(0)->set_version(5);
  model.mutable_graph()->mutable_node(0)->set_op_type("Einsum");
  expect_import_error(Fault::unsupported,
                      "Einsum 'relu' (ai.onnx 5): the operator is known, but not at this version", model);
}

TEST(Unsupported, NothingIsListedWhenTheModelIsWrongAnyway) {
  ModelProto model = relu_model();
  add_node(*model.mutable_graph(), "Unheard", {"nowhere"}, {"a"}, "n");
  expect_import_error(Fault::model, "Unheard 'n' reads 'nowhere'", model);
}

}  // namespace
}  // namespace axrun::onnx_import::test
