// Model-local functions. Fields newer than the protobuf of the tests are written as unknown fields.

#include <algorithm>

#include "onnx_import/import.h"
#include "tests/onnx_import/models.h"

namespace axrun::onnx_import::test {
namespace {

using onnx::FunctionProto;

constexpr uint32_t node_overload = 8;
constexpr uint32_t function_attribute_proto = 11;
constexpr uint32_t function_overload = 13;

FunctionProto& add_function(ModelProto& model, const std::string& name,
                            const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) {
  FunctionProto& function = *model.add_functions();
  function.set_domain("local");
  function.set_name(name);
  for (const auto& input : inputs) function.add_input(input);
  for (const auto& output : outputs) function.add_output(output);
  function.add_opset_import()->set_version(17);
  return function;
}

NodeProto& add_function_node(FunctionProto& function, const std::string& op,
                             const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                             const std::string& name = {}) {
  GraphProto graph;
  NodeProto& node = *function.add_node();
  node = add_node(graph, op, inputs, outputs, name);
  return node;
}

NodeProto& add_call(GraphProto& graph, const std::string& function, const std::vector<std::string>& inputs,
                    const std::vector<std::string>& outputs, const std::string& name) {
  NodeProto& node = add_node(graph, function, inputs, outputs, name);
  node.set_domain("local");
  return node;
}

/// x -> call -> y, no function yet.
ModelProto call_model(const std::string& function) {
  ModelProto model = empty_model();
  add_opset(model, "local", 1);
  add_input(*model.mutable_graph(), "x");
  add_call(*model.mutable_graph(), function, {"x"}, {"y"}, "call");
  add_output(*model.mutable_graph(), "y");
  return model;
}

TEST(Functions, AreInlined) {
  ModelProto model = call_model("twice");
  FunctionProto& function = add_function(model, "twice", {"a"}, {"b"});
  add_function_node(function, "Relu", {"a"}, {"t"}, "first");
  add_function_node(function, "Neg", {"t"}, {"b"});
  add_call(*model.mutable_graph(), "twice", {"y"}, {"z"}, "call2");
  add_output(*model.mutable_graph(), "z");
  const auto graph = import_proto(model).graph;
  EXPECT_EQ(summary(*graph), "Relu(x) -> call/t; Neg(call/t) -> y; Relu(y) -> call2/t; Neg(call2/t) -> z");
  EXPECT_EQ(graph->nodes[0].name, "call/first");
  EXPECT_EQ(graph->nodes[1].name, "call/Neg_b");
}

TEST(Functions, CallEachOther) {
  ModelProto model = call_model("outer");
  FunctionProto& outer = add_function(model, "outer", {"a"}, {"b"});
  add_function_node(outer, "inner", {"a"}, {"b"}, "in").set_domain("local");
  FunctionProto& inner = add_function(model, "inner", {"p"}, {"q"});
  add_function_node(inner, "Abs", {"p"}, {"t"});
  add_function_node(inner, "Neg", {"t"}, {"q"});
  EXPECT_EQ(summary(*import_proto(model).graph), "Abs(x) -> call/in/t; Neg(call/in/t) -> y");
}

TEST(Functions, MadeUpNamesDoNotMeetOthers) {
  ModelProto model = call_model("f");
  FunctionProto& function = add_function(model, "f", {"a"}, {"b"});
  add_function_node(function, "Abs", {"a"}, {"t"}, "n");
  add_function_node(function, "Neg", {"t"}, {"b"});
  add_node(*model.mutable_graph(), "Relu", {"x"}, {"call/t"}, "call/n");
  add_output(*model.mutable_graph(), "call/t");
  const auto graph = import_proto(model).graph;
  EXPECT_EQ(summary(*graph), "Abs(x) -> call/t_2; Neg(call/t_2) -> y; Relu(x) -> call/t");
  EXPECT_EQ(graph->nodes[0].name, "call/n_2");
}

TEST(Functions, AttributesAndTheirDefaults) {
  ModelProto model = call_model("f");
  FunctionProto& function = add_function(model, "f", {"a"}, {"b"});
  function.add_attribute("given");
  function.add_attribute("missing");
  AttributeProto default_value;
  default_value.set_name("by_default");
  default_value.set_type(AttributeProto::INT);
  default_value.set_i(42);
  function.mutable_unknown_fields()->AddLengthDelimited(function_attribute_proto,
                                                        default_value.SerializeAsString());
  default_value.set_name("overridden");
  function.mutable_unknown_fields()->AddLengthDelimited(function_attribute_proto,
                                                        default_value.SerializeAsString());
  NodeProto& node = add_function_node(function, "Concat", {"a"}, {"b"});
  for (const char* name : {"given", "missing", "by_default", "overridden"}) {
    add_attribute(node, std::string("own_") + name, AttributeProto::INT).set_ref_attr_name(name);
  }
  NodeProto& call = *model.mutable_graph()->mutable_node(0);
  add_int(call, "given", 7);
  add_int(call, "overridden", 8);

  const auto graph = import_proto(model).graph;
  const auto& attributes = graph->nodes[0].attributes;
  EXPECT_EQ(attributes.size(), 3u);
  EXPECT_EQ(attributes.at("own_given").integer, 7);
  EXPECT_EQ(attributes.at("own_by_default").integer, 42);
  EXPECT_EQ(attributes.at("own_overridden").integer, 8);
}

TEST(Functions, AttributesReachConstantsAndBodies) {
  ModelProto model = call_model("f");
  FunctionProto& function = add_function(model, "f", {"a"}, {"b"});
  function.add_attribute("value");
  add_attribute(add_function_node(function, "Constant", {}, {"c"}), "value_int", AttributeProto::INT)
      .set_ref_attr_name("value");
  NodeProto& node = add_function_node(function, "If", {"a"}, {"b"});
  GraphProto& body = *add_attribute(node, "then_branch", AttributeProto::GRAPH).mutable_g();
  add_attribute(add_node(body, "Concat", {"a", "c"}, {"t"}), "axis", AttributeProto::INT)
      .set_ref_attr_name("value");
  add_output(body, "t");
  add_int(*model.mutable_graph()->mutable_node(0), "value", 5);

  const auto graph = import_proto(model).graph;
  EXPECT_EQ(summary(*graph), "If(x) -> y");
  EXPECT_EQ(value_named(*graph, "call/c").constant.to_ints(), (std::vector<int64_t>{5}));
  const ir::Graph& inner = *graph->nodes[0].attributes.at("then_branch").graph;
  EXPECT_EQ(inner.nodes[0].attributes.at("axis").integer, 5);
  EXPECT_EQ(inner.captures.size(), 1u) << "the constant is copied";
  EXPECT_EQ(graph->value(inner.captures[0].first).name, "x");
}

TEST(Functions, AttributesOfTheWrongKind) {
  ModelProto model = call_model("f");
  FunctionProto& function = add_function(model, "f", {"a"}, {"b"});
  add_attribute(add_function_node(function, "Concat", {"a"}, {"b"}, "join"), "axis", AttributeProto::INT)
      .set_ref_attr_name("value");
  add_attribute(*model.mutable_graph()->mutable_node(0), "value", AttributeProto::FLOAT).set_f(1);
  expect_import_error(Fault::model,
                      "attribute 'axis' of Concat 'call/join' must be an integer; the call gives a float",
                      model);
}

TEST(Functions, OverloadsAreToldApart) {
  ModelProto model = call_model("f");
  for (const char* overload : {"", "b"}) {
    FunctionProto& function = add_function(model, "f", {"p"}, {"q"});
    add_function_node(function, *overload == 0 ? "Abs" : "Neg", {"p"}, {"q"});
    if (*overload != 0) function.mutable_unknown_fields()->AddLengthDelimited(function_overload, overload);
  }
  EXPECT_EQ(summary(*import_proto(model).graph), "Abs(x) -> y");
  NodeProto& call = *model.mutable_graph()->mutable_node(0);
  call.mutable_unknown_fields()->AddLengthDelimited(node_overload, "b");
  EXPECT_EQ(summary(*import_proto(model).graph), "Neg(x) -> y");
  call.mutable_unknown_fields()->Clear();
  call.mutable_unknown_fields()->AddLengthDelimited(node_overload, "c");
  expect_import_error(Fault::model, "f 'call': the model has no function of overload 'c'", model);
}

TEST(Functions, WinOverOperators) {
  ModelProto model = relu_model();
  FunctionProto& function = add_function(model, "Relu", {"p"}, {"q"});
  function.set_domain("ai.onnx");
  add_function_node(function, "Abs", {"p"}, {"q"});
  EXPECT_EQ(summary(*import_proto(model).graph), "Abs(x) -> y");
}

TEST(Functions, OwnOpsets) {
  ModelProto model = call_model("f");
  add_opset(model, "ai.onnx.ml", 3);
  FunctionProto& function = add_function(model, "f", {"a"}, {"b"});
  function.mutable_opset_import(0)->set_version(13);
  add_function_node(function, "Abs", {"a"}, {"t"});
  add_function_node(function, "Scaler", {"t"}, {"b"}).set_domain("ai.onnx.ml");
  add_node(*model.mutable_graph(), "Neg", {"y"}, {"z"});
  add_output(*model.mutable_graph(), "z");
  const auto graph = import_proto(model).graph;
  EXPECT_EQ(graph->nodes[0].version, 13);
  EXPECT_EQ(graph->nodes[1].version, 3) << "what the function does not import, the model does";
  EXPECT_EQ(graph->nodes[2].version, 17);
}

TEST(Functions, InputsThatTheCallLeavesOut) {
  ModelProto model = call_model("f");
  FunctionProto& function = add_function(model, "f", {"a", "low", "high"}, {"b", "unused"});
  add_function_node(function, "Clip", {"a", "low", "high"}, {"b"});
  add_function_node(function, "Abs", {"a"}, {"unused"});
  EXPECT_EQ(summary(*import_proto(model).graph), "Clip(x, -, -) -> y; Abs(x) -> call/unused");
  model.mutable_graph()->mutable_node(0)->add_input("");
  model.mutable_graph()->mutable_node(0)->add_input("x");
  EXPECT_EQ(summary(*import_proto(model).graph), "Clip(x, -, x) -> y; Abs(x) -> call/unused");
}

TEST(Functions, OutputsThatAreInputs) {
  ModelProto model = call_model("f");
  add_function(model, "f", {"a"}, {"a"});
  const auto graph = import_proto(model).graph;
  EXPECT_EQ(summary(*graph), "Identity(x) -> y");
  EXPECT_EQ(graph->nodes[0].version, 17);
}

TEST(Functions, SeeNothingOutside) {
  ModelProto model = call_model("f");
  FunctionProto& function = add_function(model, "f", {"a"}, {"b"});
  add_function_node(function, "Add", {"a", "x"}, {"b"}, "add");
  expect_import_error(Fault::model, "Add 'call/add' reads 'x', which nothing defines", model);
}

TEST(Functions, ThatAreWrong) {
  ModelProto model = call_model("f");
  add_function(model, "f", {"a"}, {"b"});
  expect_import_error(Fault::model,
                      "the call 'call' of function 'f': the function never computes its output 'b'", model);
  add_function(model, "f", {"a"}, {"b"});
  expect_import_error(Fault::model, "function 'f' of domain local is defined twice", model);

  model = call_model("f");
  add_function(model, "f", {}, {"b"});
  expect_import_error(Fault::model,
                      "the call 'call' of function 'f' has more inputs or outputs than the function", model);

  model = call_model("f");
  add_function(model, "f", {"a", "a"}, {"b"});
  expect_import_error(Fault::model, "function 'f' has two inputs called 'a'", model);

  model = call_model("f");
  add_function_node(add_function(model, "f", {"a"}, {"b"}), "Relu", {"a"}, {"a"}, "relu");
  expect_import_error(Fault::model,
                      "the value 'a' is defined twice, the second time as an output of Relu 'call/relu'",
                      model);

  model = call_model("f");
  add_function_node(add_function(model, "f", {"a"}, {"b"}), "Relu", {"a"}, {"b"});
  add_attribute(*model.mutable_graph()->mutable_node(0), "g", AttributeProto::GRAPH).mutable_g();
  expect_import_error(Fault::unsupported, "the call 'call' of function 'f': a graph as attribute 'g'", model);
}

TEST(Functions, RecursionIsNamed) {
  ModelProto model = call_model("f");
  add_function_node(add_function(model, "f", {"a"}, {"b"}), "g", {"a"}, {"b"}).set_domain("local");
  add_function_node(add_function(model, "g", {"a"}, {"b"}), "f", {"a"}, {"b"}).set_domain("local");
  expect_import_error(Fault::model, "a function calls itself: 'f' -> 'g' -> 'f'", model);
}

TEST(Functions, RecursionThroughABody) {
  ModelProto model = call_model("f");
  NodeProto& node = add_function_node(add_function(model, "f", {"a"}, {"b"}), "If", {"a"}, {"b"});
  GraphProto& body = *add_attribute(node, "then_branch", AttributeProto::GRAPH).mutable_g();
  add_call(body, "f", {"a"}, {"t"}, "again");
  add_output(body, "t");
  expect_import_error(Fault::model, "a function calls itself: 'f' -> 'f'", model);
}

TEST(Functions, GrowthIsLimited) {
  // Each function calls the next one ten times: 10^20 nodes.
  ModelProto model = call_model("f0");
  for (int k = 0; k < 20; ++k) {
    FunctionProto& function = add_function(model, "f" + std::to_string(k), {"a"}, {"b9"});
    for (int call = 0; call < 10; ++call) {
      add_function_node(function, "f" + std::to_string(k + 1), {"a"}, {"b" + std::to_string(call)})
          .set_domain("local");
    }
  }
  add_function_node(add_function(model, "f20", {"a"}, {"b"}), "Abs", {"a"}, {"b"});
  ImportOptions options;
  options.max_inlined_bytes = 1 << 20;
  expect_error(Fault::unsupported, "the model has more than 1048576 bytes of functions once inlined",
               [&] { import_proto(model, options); });
  options.max_nesting = 10;
  expect_error(Fault::unsupported, "nested more than 10 deep", [&] { import_proto(model, options); });
}

}  // namespace
}  // namespace axrun::onnx_import::test
