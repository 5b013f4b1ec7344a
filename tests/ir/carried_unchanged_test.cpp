#include "ir/carried_unchanged.h"

#include <gtest/gtest.h>

#include <memory>

#include "ir/simplify.h"

namespace axrun::ir {
namespace {

ValueId add(Graph& graph, const std::string& name, ElementType type, const std::optional<Dims>& dims) {
  Value value;
  value.name = name;
  value.type = type;
  value.dims = dims;
  return graph.add_value(std::move(value));
}

Node node_of(const std::string& op, std::vector<ValueId> inputs, std::vector<ValueId> outputs) {
  return Node{.name = op,
              .domain = "",
              .op = op,
              .version = 16,
              .inputs = std::move(inputs),
              .outputs = std::move(outputs),
              .attributes = {}};
}

/// trips, x, w -> Loop: s carried as s + w, w as it came, s once more for every trip. Outputs: the last s, w
/// as the Loop gives it, all s.
struct CarriedWeights {
  Graph graph;
  ValueId x, w, last_w;
  bool through_identity;

  explicit CarriedWeights(bool identity) : through_identity(identity) {
    const Dims two{Dim(2)};
    auto body = std::make_shared<Graph>();
    const ValueId i = add(*body, "i", ElementType::i64, Dims{});
    const ValueId go = add(*body, "go", ElementType::boolean, Dims{});
    const ValueId s = add(*body, "s", ElementType::f32, two), own_w = add(*body, "w", ElementType::f32, two);
    const ValueId next = add(*body, "next", ElementType::f32, two);
    ValueId given_w = own_w;
    body->inputs = {i, go, s, own_w};
    body->nodes.push_back(node_of("Add", {s, own_w}, {next}));
    if (identity) {
      given_w = add(*body, "same", ElementType::f32, two);
      body->nodes.push_back(node_of("Identity", {own_w}, {given_w}));
    }
    body->outputs = {go, next, given_w, next};

    const ValueId trips = add(graph, "trips", ElementType::i64, Dims{});
    x = add(graph, "x", ElementType::f32, two);
    w = add(graph, "weights", ElementType::f32, two);
    const ValueId last = add(graph, "last", ElementType::undefined, {});
    last_w = add(graph, "last_w", ElementType::undefined, {});
    const ValueId all = add(graph, "all", ElementType::undefined, {});
    graph.inputs = {trips, x, w};
    graph.outputs = {last, last_w, all};
    Node loop = node_of("Loop", {trips, absent, x, w}, {last, last_w, all});
    loop.attributes["body"].kind = Attribute::Kind::graph;
    loop.attributes["body"].graph = body;
    graph.nodes.push_back(loop);
  }
};

class CarriedUnchanged : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Loops, CarriedUnchanged, testing::Bool());

TEST_P(CarriedUnchanged, IsCaptured) {
  CarriedWeights made(GetParam());
  Graph& graph = made.graph;
  const Graph before = graph;
  EXPECT_EQ(simplify(graph).captured, 1);
  ASSERT_EQ(graph.nodes.size(), 1U);
  const Node& loop = graph.nodes[0];
  EXPECT_EQ(loop.inputs.size(), 3U);
  EXPECT_EQ(loop.outputs.size(), 2U);
  const Graph& body = *loop.attributes.at("body").graph;
  EXPECT_EQ(body.inputs.size(), 3U);
  EXPECT_EQ(body.outputs.size(), 3U);
  ASSERT_EQ(body.captures.size(), 1U);
  EXPECT_EQ(body.captures[0].first, made.w);
  EXPECT_EQ(graph.outputs[1], made.w);
  EXPECT_TRUE(is_whole(graph));
  // The graph that this one was copied from has its body as it was.
  EXPECT_EQ(before.nodes[0].attributes.at("body").graph->inputs.size(), 4U);
}

TEST_P(CarriedUnchanged, IsAConstantInsideWhereItIsOneOutside) {
  CarriedWeights made(GetParam());
  made.graph.inputs.pop_back();
  made.graph.value(made.w).constant = Tensor::allocate(ElementType::f32, {2});
  simplify(made.graph);
  const Graph& body = *made.graph.nodes.at(0).attributes.at("body").graph;
  EXPECT_TRUE(body.captures.empty());
  EXPECT_TRUE(body.value(body.nodes.at(0).inputs.at(1)).constant.defined());
}

/// What is given for every trip keeps its type and dims in a graph that is not simplified, too.
TEST_P(CarriedUnchanged, LeavesTheResultsOfEveryTripInPlace) {
  CarriedWeights made(GetParam());
  Graph as_it_came = made.graph;
  auto& shared = as_it_came.nodes[0].attributes["body"].graph;
  shared = std::make_shared<Graph>(*shared);
  shared->value(shared->outputs[3]).dims.reset();
  simplify(made.graph);
  take_loop_results(as_it_came, made.graph);
  const Graph& body = *as_it_came.nodes[0].attributes.at("body").graph;
  EXPECT_EQ(body.value(body.outputs[3]).type, ElementType::f32);
  EXPECT_EQ(body.value(body.outputs[0]).type, ElementType::boolean);
}

/// The states of a Scan, too: s carried as s + w + x, w as it came; x scanned.
TEST_P(CarriedUnchanged, IsCapturedByScans) {
  CarriedWeights made(GetParam());
  Graph& graph = made.graph;
  Node& scan = graph.nodes[0];
  scan.op = "Scan";
  scan.attributes["num_scan_inputs"].kind = Attribute::Kind::integer;
  scan.attributes["num_scan_inputs"].integer = 1;
  const ValueId xs = add(graph, "xs", ElementType::f32, Dims{Dim(5), Dim(2)});
  scan.inputs = {made.x, made.w, xs};
  graph.inputs = {made.x, made.w, xs};
  auto& body = scan.attributes["body"].graph;
  body = std::make_shared<Graph>(*body);
  body->inputs = {body->inputs[2], body->inputs[3], add(*body, "x", ElementType::f32, Dims{Dim(2)})};
  body->nodes.push_back(node_of("Add", {body->inputs[2], body->outputs[1]},
                                {add(*body, "sum", ElementType::f32, Dims{Dim(2)})}));
  const ValueId sum = body->nodes.back().outputs[0];
  body->outputs = {sum, body->outputs[2], sum};
  EXPECT_EQ(simplify(graph).captured, 1);
  const Node& after = graph.nodes.at(0);
  EXPECT_EQ(after.inputs.size(), 2U);
  EXPECT_EQ(after.outputs.size(), 2U);
  EXPECT_EQ(after.attributes.at("body").graph->captures.at(0).first, made.w);
  EXPECT_EQ(graph.outputs[1], made.w);
  EXPECT_TRUE(is_whole(graph));
}

/// A node that nobody needs any more would refuse nothing any more.
TEST_P(CarriedUnchanged, IsLeftWhereNothingElseOfTheNodeIsRead) {
  CarriedWeights made(GetParam());
  made.graph.outputs = {made.last_w};
  EXPECT_EQ(simplify(made.graph).captured, 0);
  EXPECT_EQ(made.graph.nodes.size(), 1U);
}

TEST(CarriedUnchangedTwice, SwappedValuesStayCarried) {
  CarriedWeights made(false);
  auto& body = *made.graph.nodes[0].attributes["body"].graph;
  body.outputs = {body.outputs[0], body.inputs[3], body.inputs[2], body.outputs[1]};
  EXPECT_EQ(capture_carried_unchanged(made.graph), 0);
  EXPECT_EQ(made.graph.nodes[0].inputs.size(), 4U);
}

TEST(CarriedUnchangedTwice, LoopsThatDoNotFitTheirBodiesAreLeftAlone) {
  CarriedWeights made(false);
  made.graph.nodes[0].inputs.pop_back();
  EXPECT_EQ(capture_carried_unchanged(made.graph), 0);
  made.graph.nodes[0].inputs = {0};
  EXPECT_EQ(capture_carried_unchanged(made.graph), 0);
}

}  // namespace
}  // namespace axrun::ir
