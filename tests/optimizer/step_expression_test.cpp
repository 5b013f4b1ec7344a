#include "runtime/optimizer/step_expression.h"

#include <gtest/gtest.h>

#include "ir/text.h"
#include "runtime/session.h"
#include "tests/runtime/models.h"

namespace axrun::tests {
namespace {

using namespace runtime;
using ir::Dim;
using ir::ElementType;

/// A model's only step that is no view, as an expression with open sizes.
struct Expressed {
  explicit Expressed(const ModelMaker& maker, const std::vector<ir::Shape>& shapes) {
    SessionOptions options;
    options.threads = 1;
    options.tier = Tier::fallback;
    session = maker.session(options);
    session->prepare(shapes);
    plan = session->current_plan(shapes);
    const SymbolicFacts facts(session->model().graph);
    expression = express(facts.inference(), plan->steps().back(), reason);
  }
  std::unique_ptr<Session> session;
  std::shared_ptr<const Plan> plan;
  std::optional<StepExpression> expression;
  std::string reason;
};

/// [past, 3] and [seq, 3] joined.
struct Joined {
  Joined() {
    a = m.input("a", ElementType::f32, {Dim::symbol("past"), 3});
    const ir::ValueId b = m.input("b", ElementType::f32, {Dim::symbol("seq"), 3});
    all = join(a, b);
  }
  ir::ValueId join(ir::ValueId x, ir::ValueId y) {
    return m.node("Concat", {x, y}, {{"axis", ModelMaker::attribute(int64_t{0})}});
  }
  ModelMaker m;
  ir::ValueId a, all;
};

TEST(StepExpression, ASumOfSizesIsOneSize) {
  Joined joined;
  joined.m.output(joined.m.node("Add", {joined.all, joined.m.weights({1, 3}, 1)}));
  const Expressed made(joined.m, {{4, 3}, {5, 3}});
  ASSERT_TRUE(made.expression) << made.reason;
  EXPECT_EQ(made.expression->symbols, std::vector<std::string>{"n0"}) << made.expression->text;
  const auto sizes = sizes_for(*made.expression, {{9, 3}, {1, 3}}, {{9, 3}});
  ASSERT_TRUE(sizes);
  EXPECT_EQ(sizes->at("n0"), 9);
  EXPECT_EQ(output_shapes(*made.expression, *sizes), (std::vector<ir::Shape>{{9, 3}}));
}

TEST(StepExpression, SizesAreSolvedFromSums) {
  Joined joined;
  joined.m.output(joined.join(joined.m.node("Tanh", {joined.all}), joined.a));
  const Expressed made(joined.m, {{4, 3}, {5, 3}});
  ASSERT_TRUE(made.expression) << made.reason;
  ASSERT_EQ(made.expression->symbols.size(), 2u) << made.expression->text;
  const auto sizes = sizes_for(*made.expression, {{9, 3}, {4, 3}}, {{13, 3}});
  ASSERT_TRUE(sizes) << made.expression->text;
  EXPECT_EQ(output_shapes(*made.expression, *sizes), (std::vector<ir::Shape>{{13, 3}}));
  EXPECT_FALSE(sizes_for(*made.expression, {{9, 3}, {4, 4}}, {{13, 3}})) << "a fixed size differs";
  EXPECT_FALSE(sizes_for(*made.expression, {{9, 3}}, {{13, 3}})) << "an operand is missing";
  EXPECT_FALSE(sizes_for(*made.expression, {{9, 3, 1}, {4, 3}}, {{13, 3}})) << "a rank differs";
  EXPECT_FALSE(sizes_for(*made.expression, {{9, 3}, {10, 3}}, {{19, 3}})) << "seq would be negative";
  EXPECT_FALSE(sizes_for(*made.expression, {{9, 3}, {4, 3}}, {{12, 3}})) << "an output differs";
  EXPECT_FALSE(sizes_for(*made.expression, {{9, 3}, {4, 3}}, {})) << "an output is missing";
}

/// What a convolution with a stride of 2 leaves of [n, w], and what comes after it.
struct Strided {
  Strided() {
    x = m.input("x", ElementType::f32, {1, 3, Dim::symbol("h"), Dim::symbol("w")});
    y = halved(x, 3, 1);
  }
  ir::ValueId halved(ir::ValueId from, uint64_t seed, int64_t padding) {
    const auto list = [](int64_t value, size_t count) {
      ir::Attribute attribute;
      attribute.kind = ir::Attribute::Kind::integers;
      attribute.integers.assign(count, value);
      return attribute;
    };
    return m.node("Conv", {from, m.weights({3, 3, 3, 3}, seed)},
                  {{"strides", list(2, 2)}, {"pads", list(padding, 4)}});
  }
  ModelMaker m;
  ir::ValueId x, y;
};

TEST(StepExpression, WhatAStrideLeavesIsASize) {
  Strided strided;
  strided.m.output(strided.m.node("Softmax", {strided.y}, {{"axis", ModelMaker::attribute(int64_t{3})}}));
  const Expressed made(strided.m, {{1, 3, 20, 31}});
  ASSERT_TRUE(made.expression) << made.reason;
  EXPECT_EQ(made.expression->symbols.size(), 2u);
  const auto sizes = sizes_for(*made.expression, {{1, 3, 7, 9}}, {{1, 3, 7, 9}});
  ASSERT_TRUE(sizes);
  EXPECT_EQ(in_order(*made.expression, *sizes), (std::vector<int64_t>{7, 9}));
}

/// A size is twice what a stride leaves of it, and a remainder: both follow from the shapes, and nothing that
/// the convolution does not give does.
TEST(StepExpression, AStridedConvolutionTellsItsSizesByItsOutput) {
  for (const int64_t padding : {0, 1}) {
    Strided strided;
    strided.m.output(padding == 1 ? strided.y : strided.halved(strided.x, 5, 0));
    const Expressed made(strided.m, {{1, 3, 20, 31}});
    ASSERT_TRUE(made.expression) << made.reason;
    EXPECT_EQ(made.expression->symbols.size(), 4u) << made.expression->text;
    for (int64_t h = 5; h < 9; ++h) {
      const int64_t w = 2 * h + 1, high = (h - 3 + 2 * padding) / 2 + 1, wide = (w - 3 + 2 * padding) / 2 + 1;
      const auto sizes = sizes_for(*made.expression, {{1, 3, h, w}, {3, 3, 3, 3}}, {{1, 3, high, wide}});
      ASSERT_TRUE(sizes) << h << " " << padding << "\n" << made.expression->text;
      EXPECT_EQ(output_shapes(*made.expression, *sizes), (std::vector<ir::Shape>{{1, 3, high, wide}}));
      for (const int64_t value : in_order(*made.expression, *sizes)) EXPECT_GE(value, 0);
      EXPECT_FALSE(sizes_for(*made.expression, {{1, 3, h, w}, {3, 3, 3, 3}}, {{1, 3, high + 9, wide}}));
    }
  }
}

/// Of a size that two strides in a row are applied to only what the first leaves is there.
TEST(StepExpression, AStrideOfWhatAStrideLeaves) {
  Strided strided;
  strided.m.output(strided.halved(
      strided.m.node("Softmax", {strided.y}, {{"axis", ModelMaker::attribute(int64_t{3})}}), 7, 1));
  const Expressed made(strided.m, {{1, 3, 20, 31}});
  ASSERT_TRUE(made.expression) << made.reason;
  EXPECT_EQ(made.expression->text.find("floor_div"), std::string::npos) << made.expression->text;
  EXPECT_TRUE(sizes_for(*made.expression, {{1, 3, 10, 16}, {3, 3, 3, 3}}, {{1, 3, 5, 8}}));
  EXPECT_TRUE(sizes_for(*made.expression, {{1, 3, 11, 15}, {3, 3, 3, 3}}, {{1, 3, 6, 8}}));
}

/// The step of a scan has the same sizes as what is around it.
TEST(StepExpression, SizesAreRenamedInStepsToo) {
  ModelMaker m;
  const ir::ValueId a = m.input("a", ElementType::f32, {Dim::symbol("past"), 1, 3});
  const ir::ValueId b = m.input("b", ElementType::f32, {Dim::symbol("seq"), 1, 3});
  const ir::ValueId x = m.node("Concat", {a, b}, {{"axis", ModelMaker::attribute(int64_t{0})}});
  m.output(m.node("RNN", {x, m.weights({1, 4, 3}, 1), m.weights({1, 4, 4}, 2)},
                  {{"hidden_size", ModelMaker::attribute(int64_t{4})}}));
  const Expressed made(m, {{4, 1, 3}, {5, 1, 3}});
  ASSERT_TRUE(made.expression) << made.reason;
  EXPECT_EQ(made.expression->symbols, std::vector<std::string>{"n0"});
  EXPECT_NE(made.expression->text.find("scan (length: n0"), std::string::npos) << made.expression->text;
  EXPECT_EQ(made.expression->text.find("seq"), std::string::npos) << made.expression->text;
  EXPECT_NO_THROW(ir::parse(made.expression->text));
}

TEST(StepExpression, EqualStepsHaveEqualText) {
  const auto text_with = [](const std::string& first, const std::string& second, uint64_t seed) {
    ModelMaker m;
    const ir::ValueId a = m.input("a", ElementType::f32, {Dim::symbol(first), Dim::symbol(second)});
    // Other nodes before it: the numbers of values differ.
    ir::ValueId b = a;
    for (uint64_t k = 0; k < seed; ++k)
      b = m.node("Softmax", {b}, {{"axis", ModelMaker::attribute(int64_t{-1})}});
    m.output(m.node("Add", {m.node("Tanh", {b}), m.weights({1, 1}, 5)}));
    const Expressed made(m, {{5, 6}});
    EXPECT_TRUE(made.expression) << made.reason;
    return made.expression ? made.expression->text : "";
  };
  EXPECT_EQ(text_with("batch", "n0", 0), text_with("n1", "width", 2));
}

TEST(StepExpression, WhereDataTellTheShapeThereIsNone) {
  ModelMaker m;
  const ir::ValueId a = m.input("a", ElementType::f32, {Dim::symbol("n")});
  m.output(m.node("Expand", {a, m.input("shape", ElementType::i64, {2})}));
  const auto session = m.session();
  const ir::Graph& graph = *session->model().graph;
  const SymbolicFacts facts(session->model().graph);
  Step step;
  const ir::Node& node = graph.nodes.back();
  step.work = std::make_shared<const StepWork>(
      StepWork{&node, node.inputs, node.outputs, "Expand", {static_cast<int>(graph.nodes.size()) - 1}});
  std::string reason;
  EXPECT_FALSE(express(facts.inference(), step, reason));
  EXPECT_NE(reason.find("Expand"), std::string::npos) << reason;
}

}  // namespace
}  // namespace axrun::tests
