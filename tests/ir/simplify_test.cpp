#include "ir/simplify.h"

#include <gtest/gtest.h>

#include <memory>

#include "ir/graph.h"

namespace axrun::ir {
namespace {

Value f32_value(const std::string& name) {
  Value value;
  value.name = name;
  value.type = ElementType::f32;
  value.dims = Dims{Dim(2)};
  return value;
}

/// A body that answers the only value it captures.
std::shared_ptr<Graph> body_of(ValueId captured) {
  auto body = std::make_shared<Graph>();
  const ValueId inner = body->add_value(f32_value("inner"));
  const ValueId result = body->add_value(f32_value("result"));
  body->captures = {{captured, inner}};
  body->nodes.push_back(Node{.name = "neg",
                             .domain = "",
                             .op = "Neg",
                             .version = 13,
                             .inputs = {inner},
                             .outputs = {result},
                             .attributes = {}});
  body->outputs = {result};
  return body;
}

TEST(Simplify, LeavesTheBodiesOfOtherCopiesAlone) {
  Graph graph;
  Value condition = f32_value("condition");
  condition.type = ElementType::boolean;
  condition.dims = Dims{};
  const ValueId c = graph.add_value(condition);
  const ValueId x = graph.add_value(f32_value("x"));
  const ValueId same = graph.add_value(f32_value("same"));
  const ValueId y = graph.add_value(f32_value("y"));
  graph.inputs = {c, x};
  graph.outputs = {y};
  graph.nodes.push_back(Node{.name = "identity",
                             .domain = "",
                             .op = "Identity",
                             .version = 13,
                             .inputs = {x},
                             .outputs = {same},
                             .attributes = {}});
  Node choice{
      .name = "if", .domain = "", .op = "If", .version = 13, .inputs = {c}, .outputs = {y}, .attributes = {}};
  for (const char* branch : {"then_branch", "else_branch"}) {
    choice.attributes[branch].kind = Attribute::Kind::graph;
    choice.attributes[branch].graph = body_of(same);
  }
  graph.nodes.push_back(choice);
  Graph copy = graph;
  const SimplifyReport report = simplify(copy);
  EXPECT_EQ(report.forwarded, 1);
  EXPECT_EQ(copy.nodes.at(0).attributes.at("then_branch").graph->captures.at(0).first, x);
  EXPECT_EQ(graph.nodes.at(1).attributes.at("then_branch").graph->captures.at(0).first, same);
}

/// Where named sizes turn out to hold something, the node has to be there to refuse them.
TEST(Simplify, KeepsWhatMayNotBeEmpty) {
  Graph graph;
  Value input = f32_value("x");
  input.dims = Dims{Dim::symbol("n"), Dim(4)};
  const ValueId x = graph.add_value(input);
  Value shape;
  shape.name = "shape";
  shape.constant = Tensor::allocate(ElementType::i64, {2});
  shape.constant.set_int(0, 0);
  shape.constant.set_int(1, 8);
  const ValueId s = graph.add_value(shape);
  Value result;
  result.name = "y";
  const ValueId y = graph.add_value(result);
  graph.inputs = {x};
  graph.outputs = {y};
  Node node{.name = "reshape",
            .domain = "",
            .op = "Reshape",
            .version = 14,
            .inputs = {x, s},
            .outputs = {y},
            .attributes = {}};
  node.attributes["allowzero"].kind = Attribute::Kind::integer;
  node.attributes["allowzero"].integer = 1;
  graph.nodes.push_back(node);
  Graph of_booleans = graph;
  of_booleans.value(x).type = ElementType::boolean;
  for (Graph* one : {&graph, &of_booleans}) {
    EXPECT_EQ(simplify(*one).folded, 0);
    EXPECT_EQ(one->nodes.size(), 1U);
    EXPECT_EQ(one->value(y).dims, (Dims{Dim(0), Dim(8)}));
  }
}

}  // namespace
}  // namespace axrun::ir
