// Graphs of which windows are computed in another way.
#include "search/algebra/graph_rewrite.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "search/algebra/discovery.h"
#include "search/algebra/kernel_cost.h"
#include "search/algebra/model_terms.h"
#include "tests/algebra/random_values.h"

namespace axrun::tests {
namespace {

using namespace search::algebra;
using ir::ValueId;
using Rules = std::vector<std::shared_ptr<const Rule>>;

struct Maker {
  ir::Graph graph;

  ValueId input(const ir::Dims& dims) {
    ir::Value value;
    value.name = "input_" + std::to_string(graph.values.size());
    value.type = ir::ElementType::f32;
    value.dims = dims;
    graph.inputs.push_back(graph.add_value(value));
    return graph.inputs.back();
  }
  ValueId constant(ir::Tensor tensor) {
    ir::Value value;
    value.name = "constant_" + std::to_string(graph.values.size());
    value.constant = std::move(tensor);
    return graph.add_value(value);
  }
  ValueId weights(const ir::Shape& shape) { return constant(values_of(shape, graph.values.size())); }
  ValueId node(const std::string& op, const std::vector<ValueId>& inputs,
               std::map<std::string, ir::Attribute> attributes = {}) {
    ir::Value value;
    value.name = op + "_" + std::to_string(graph.values.size());
    ir::Node node;
    node.name = value.name;
    node.op = op;
    node.version = 17;
    node.inputs = inputs;
    node.outputs = {graph.add_value(value)};
    node.attributes = std::move(attributes);
    graph.nodes.push_back(node);
    return node.outputs[0];
  }
};

ir::Inference facts_of(const ir::Graph& graph) {
  ir::Inference facts(graph, {});
  facts.run();
  return facts;
}

/// By definition, node by node: with inputs that are constants everything is folded.
std::vector<ir::Tensor> answers(ir::Graph graph) {
  for (const ValueId id : graph.inputs)
    graph.value(id).constant = values_of(*ir::constant_dims(*graph.value(id).dims), 77 + id);
  ir::Inference::Options options;
  options.fold_bytes = int64_t{1} << 24;
  ir::Inference facts(graph, options);
  facts.run();
  std::vector<ir::Tensor> found;
  for (const ValueId id : graph.outputs) found.push_back(facts.fact(id).constant);
  return found;
}

void expect_same_answers(const ir::Graph& one, const ir::Graph& other) {
  const auto a = answers(one), b = answers(other);
  ASSERT_EQ(a.size(), b.size());
  for (size_t k = 0; k < a.size(); ++k) {
    ASSERT_TRUE(a[k].defined() && b[k].defined());
    ASSERT_EQ(a[k].shape(), b[k].shape());
    for (int64_t i = 0; i < a[k].size(); ++i) ASSERT_NEAR(a[k].get_real(i), b[k].get_real(i), 1e-4) << i;
  }
}

RuleSet discovered(const ir::Graph& graph) {
  RuleSet rules;
  DiscoveryOptions options;
  options.prover = prover_here();
  Discovery discovery(rules, options);
  discovery.examine(ModelTerms(facts_of(graph)).terms(), "test");
  return rules;
}

Rules usable(const RuleSet& set) {
  Rules rules;
  for (const auto& [id, rule] : set.rules()) rules.push_back(rule);
  return rules;
}

GraphRewrite rewritten(const ir::Graph& graph, const Rules& rules) {
  GraphRewriteOptions options;
  options.cost = kernel_cost(Movement::is_free);
  options.saturation.most_terms = 2000;
  return rewrite_graph(facts_of(graph), rules, options);
}

int count_of(const ir::Graph& graph, const std::string& op) {
  return static_cast<int>(std::count_if(graph.nodes.begin(), graph.nodes.end(),
                                        [&](const ir::Node& node) { return node.op == op; }));
}

/// Products of x with three matrices, each with its bias; the first two are outputs.
Maker three_products() {
  Maker m;
  const ValueId x = m.input({8, 64});
  std::vector<ValueId> parts;
  for (const int64_t columns : {24, 16, 24})
    parts.push_back(m.node("Add", {m.node("MatMul", {x, m.weights({64, columns})}), m.weights({columns})}));
  m.graph.outputs = {parts[0], parts[1], m.node("Tanh", {parts[2]})};
  return m;
}

/// The names of the model's nodes, each once; with numbers where there are more nodes than these.
TEST(GraphRewrite, NewNodesHaveNamesOfThoseTheyReplace) {
  const Maker m = three_products();
  const RuleSet rules = discovered(m.graph);
  const GraphRewrite found = rewritten(m.graph, usable(rules));
  ASSERT_NE(found.graph, nullptr);
  std::map<std::string, std::string> operators;
  for (const ir::Node& node : m.graph.nodes) operators.emplace(node.name, node.op);
  std::set<std::string> names;
  int renamed = 0;
  for (const ir::Node& node : found.graph->nodes) {
    EXPECT_TRUE(names.insert(node.name).second) << node.name;
    EXPECT_EQ(operators.count(node.name.substr(0, node.name.find(":algebra"))), 1U) << node.name;
    if (!node.rewritten || operators.count(node.name) == 0) continue;
    ++renamed;
    const bool has_own = node.op == "MatMul" || node.op == "Add";
    EXPECT_TRUE(!has_own || operators[node.name] == node.op) << node.op << ' ' << node.name;
  }
  EXPECT_GT(renamed, 0);
}

TEST(GraphRewrite, ProductsWithASharedOperandAreMerged) {
  const Maker m = three_products();
  const RuleSet rules = discovered(m.graph);
  const GraphRewrite found = rewritten(m.graph, usable(rules));
  ASSERT_NE(found.graph, nullptr);
  // Those of constants alone are computed before the run.
  const ir::Inference facts = facts_of(*found.graph);
  int products = 0;
  for (const ir::Node& node : found.graph->nodes)
    products += node.op == "MatMul" && !facts.is_constant(node.outputs[0]) ? 1 : 0;
  EXPECT_EQ(products, 1);
  EXPECT_EQ(found.graph->outputs, m.graph.outputs);
  expect_same_answers(m.graph, *found.graph);
  ASSERT_FALSE(found.windows.empty());
  EXPECT_FALSE(found.windows[0].text.empty());
  for (const auto& [id, forward] : found.windows[0].uses) {
    ASSERT_NE(rules.find(id), nullptr) << id;
    EXPECT_TRUE(rules.find(id)->usable(forward));
  }
}

TEST(GraphRewrite, RulesWithoutProofNeverFire) {
  const Maker m = three_products();
  const RuleSet rules = discovered(m.graph);
  for (const bool equality : {true, false}) {
    Rules unproved;
    for (const auto& [id, rule] : rules.rules()) {
      auto copy = std::make_shared<Rule>(*rule);
      (equality ? copy->equality : copy->safety).verdict = verify::Verdict::unknown;
      copy->safety_back.verdict = verify::Verdict::unknown;
      unproved.push_back(copy);
    }
    EXPECT_EQ(rewritten(m.graph, unproved).graph, nullptr);
  }
  Rules not_established;
  for (const auto& [id, rule] : rules.rules()) {
    auto copy = std::make_shared<Rule>(*rule);
    copy->established = false;
    not_established.push_back(copy);
  }
  EXPECT_EQ(rewritten(m.graph, not_established).graph, nullptr);
}

TEST(GraphRewrite, LowRankProductsOfConstantsBecomeOne) {
  Maker m;
  const ValueId x = m.input({8, 32});
  const ValueId low = m.node("MatMul", {m.node("MatMul", {x, m.weights({32, 24})}), m.weights({24, 32})});
  m.graph.outputs = {m.node("Relu", {low})};
  const GraphRewrite found = rewritten(m.graph, usable(discovered(m.graph)));
  ASSERT_NE(found.graph, nullptr);
  const ir::Inference facts = facts_of(*found.graph);
  int products = 0;
  for (const ir::Node& node : found.graph->nodes)
    products += node.op == "MatMul" && !facts.is_constant(node.outputs[0]) ? 1 : 0;
  EXPECT_EQ(products, 1);
  expect_same_answers(m.graph, *found.graph);
}

/// The second operand of one product is made of another product: they cannot be one.
TEST(GraphRewrite, ValuesNeverDependOnThemselves) {
  Maker m;
  const ValueId x = m.input({16, 16});
  const ValueId first = m.node("MatMul", {x, m.weights({16, 16})});
  const ValueId second = m.node("MatMul", {x, m.node("Softmax", {first})});
  m.graph.outputs = {first, second};
  Maker alike;  // for the rule
  const ValueId y = alike.input({16, 16});
  alike.graph.outputs = {alike.node("MatMul", {y, alike.weights({16, 16})}),
                         alike.node("MatMul", {y, alike.weights({16, 16})})};
  const Rules rules = usable(discovered(alike.graph));
  EXPECT_NE(rewritten(alike.graph, rules).graph, nullptr);
  const GraphRewrite found = rewritten(m.graph, rules);
  if (found.graph != nullptr) expect_same_answers(m.graph, *found.graph);
}

/// One term, two values, both of which the model gives.
TEST(GraphRewrite, EqualValuesStayApart) {
  Maker m;
  const ValueId x = m.input({8, 32}), a = m.weights({32, 24}), b = m.weights({24, 32});
  m.graph.outputs = {m.node("MatMul", {m.node("MatMul", {x, a}), b}),
                     m.node("MatMul", {m.node("MatMul", {x, a}), b})};
  const GraphRewrite found = rewritten(m.graph, usable(discovered(m.graph)));
  ASSERT_NE(found.graph, nullptr);
  EXPECT_EQ(found.graph->outputs, m.graph.outputs);
  EXPECT_EQ(count_of(*found.graph, "MatMul"), 2);
  expect_same_answers(m.graph, *found.graph);
}

ir::Attribute integers(std::vector<int64_t> list) {
  ir::Attribute attribute;
  attribute.kind = ir::Attribute::Kind::integers;
  attribute.integers = std::move(list);
  return attribute;
}

/// The channels of two values by turns (channels of one value are 3 x 5 elements), and each half of that.
Maker shuffled_channels(const std::vector<int64_t>& indices) {
  Maker m;
  ir::Attribute axis;
  axis.kind = ir::Attribute::Kind::integer;
  axis.integer = 1;
  const ValueId a = m.input({1, 6, 3, 5}), b = m.input({1, 6, 3, 5});
  const ValueId joined = m.node("Concat", {a, b}, {{"axis", axis}});
  const auto reshape = [&](ValueId x, const std::vector<int64_t>& dims) {
    return m.node("Reshape", {x, m.constant(ir::Tensor::from_i64(dims))});
  };
  const ValueId turned = m.node("Transpose", {reshape(joined, {6, 2, 15})}, {{"perm", integers({1, 0, 2})}});
  const ValueId halves = reshape(turned, {2, 1, 6, 3, 5});
  for (const int64_t index : indices) {
    const ValueId number = m.constant(ir::Tensor::scalar(ir::ElementType::i64, static_cast<double>(index)));
    m.graph.outputs.push_back(m.node("Tanh", {m.node("Gather", {halves, number})}));
  }
  return m;
}

/// What takes each half past the Reshape and the Transpose is found in this model alone, although it has no
/// Slice of a Transpose.
TEST(GraphRewrite, HalvesOfShuffledChannelsNeedNoTranspose) {
  for (const Movement movement : {Movement::is_free, Movement::costs}) {
    for (const std::vector<int64_t>& indices : {std::vector<int64_t>{0, 1}, {-1, 0}}) {
      const Maker m = shuffled_channels(indices);
      GraphRewriteOptions options;
      options.cost = kernel_cost(movement);
      const RuleSet rules = discovered(m.graph);
      const GraphRewrite found = rewrite_graph(facts_of(m.graph), usable(rules), options);
      ASSERT_NE(found.graph, nullptr);
      EXPECT_EQ(count_of(*found.graph, "Transpose"), 0);
      EXPECT_EQ(count_of(*found.graph, "Slice"), 2);
      expect_same_answers(m.graph, *found.graph);
    }
  }
}

/// Layers of products on rows, of which the last row is wanted; and what else of them is.
Maker last_row_of(int layers, bool all_of_the_first) {
  Maker m;
  ValueId x = m.input({12, 16});
  for (int layer = 0; layer < layers; ++layer) {
    x = m.node("Tanh", {m.node("Add", {m.node("MatMul", {x, m.weights({16, 16})}), m.weights({16})})});
    if (layer == 0 && all_of_the_first) m.graph.outputs.push_back(x);
  }
  const ValueId last = m.constant(ir::Tensor::scalar(ir::ElementType::i64, -1));
  m.graph.outputs.push_back(m.node("Gather", {x, last}));
  return m;
}

/// Further than one window of neighbours, and than rules lead in a few rounds.
TEST(GraphRewrite, WhatIsNotSelectedIsNotComputed) {
  constexpr int layers = 12;
  for (const bool all_of_the_first : {false, true}) {
    const Maker m = last_row_of(layers, all_of_the_first);
    const Rules rules = usable(discovered(m.graph));
    const GraphRewrite found = rewritten(m.graph, rules);
    ASSERT_NE(found.graph, nullptr);
    const ir::Inference facts = facts_of(*found.graph);
    int whole = 0;
    for (const ir::Node& node : found.graph->nodes)
      whole += node.op == "MatMul" && facts.fact(node.outputs[0]).dims->front() != ir::Dim(1) ? 1 : 0;
    EXPECT_EQ(whole, all_of_the_first ? 1 : 0);
    expect_same_answers(m.graph, *found.graph);
    for (const RewrittenWindow& window : found.windows)
      EXPECT_TRUE(follows_from(window.recipe.text, rules)) << window.recipe.text;
  }
}

/// As conversions between layouts are, which would cancel one another.
TEST(GraphRewrite, WindowsEndAtValuesThatAreApart) {
  Maker m = shuffled_channels({0, 1});
  std::set<ValueId> stored;
  for (ValueId& output : m.graph.outputs) {
    const ValueId turned = m.node("Transpose", {output}, {{"perm", integers({0, 2, 3, 1})}});
    stored.insert(turned);
    output = m.node("Relu", {m.node("Transpose", {turned}, {{"perm", integers({0, 3, 1, 2})}})});
  }
  const RuleSet rules = discovered(m.graph);
  for (const bool apart : {true, false}) {
    GraphRewriteOptions options;
    options.cost = kernel_cost(Movement::costs);
    if (apart) options.apart = [&](ValueId id) { return stored.count(id) != 0; };
    const GraphRewrite found = rewrite_graph(facts_of(m.graph), usable(rules), options);
    ASSERT_NE(found.graph, nullptr);
    EXPECT_EQ(count_of(*found.graph, "Slice"), 2);
    EXPECT_EQ(count_of(*found.graph, "Transpose"), apart ? 4 : 0);
    expect_same_answers(m.graph, *found.graph);
  }
}

/// An index that is outside is an error, which no other graph may hide.
TEST(GraphRewrite, GathersOutsideStayAsTheyAre) {
  const Maker m = shuffled_channels({0, 1});
  ir::Graph outside = m.graph;
  for (ir::Node& node : outside.nodes)
    if (node.op == "Gather")
      outside.value(node.inputs[1]).constant = ir::Tensor::scalar(ir::ElementType::i64, 2);
  const auto gathers = [](const ir::Graph& graph) {
    const ir::Inference facts = facts_of(graph);
    const ModelTerms list(facts);
    int count = 0;
    for (TermId id = 0; id < list.terms().size(); ++id) count += list.terms().is(id, "Gather") ? 1 : 0;
    return count;
  };
  EXPECT_EQ(gathers(m.graph), 0);
  EXPECT_GT(gathers(outside), 0);
}

TEST(GraphRewrite, StopsWhenTold) {
  const Maker m = three_products();
  const Rules rules = usable(discovered(m.graph));
  GraphRewriteOptions options;
  options.cost = kernel_cost(Movement::is_free);
  options.go_on = [] { return false; };
  const GraphRewrite none = rewrite_graph(facts_of(m.graph), rules, options);
  EXPECT_EQ(none.graph, nullptr);
  EXPECT_EQ(none.looked_at, 0);
}

}  // namespace
}  // namespace axrun::tests
