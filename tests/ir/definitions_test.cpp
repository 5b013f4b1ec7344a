#include "ir/definitions.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "ir/error.h"
#include "tests/ir/node_under_test.h"

namespace axrun::ir {
namespace {

using test::ints;
using test::NodeUnderTest;
using test::reals;

NodeUnderTest softmax(const Shape& shape, int64_t axis, int version = 13) {
  return NodeUnderTest("Softmax", version).input(Tensor::allocate(ElementType::f32, shape)).set("axis", axis);
}

NodeUnderTest weighted_product(double weight) {
  return NodeUnderTest("MatMul", 13).input(reals({1, 2}, {1, 2})).input(reals({2, 1}, {weight, 2}));
}

NodeUnderTest reshape(const std::vector<int64_t>& shape) {
  return NodeUnderTest("Reshape", 13)
      .input(Tensor::allocate(ElementType::f32, {2, 6}))
      .input(ints({2}, shape));
}

class DefinitionsTest : public testing::Test {
 protected:
  /// Whether the node is told apart from all before it; its program must be its own definition's in any case.
  bool is_new(const NodeUnderTest& node, const std::string& name = "n") {
    Node named = node.node();
    named.name = name;
    const size_t before = definitions_.size();
    const std::shared_ptr<const Program> found = definitions_.define(named, node.known());
    std::string difference = "no program";
    EXPECT_TRUE(found && same_program(*found, define_node(named, node.known()), difference)) << difference;
    return definitions_.size() > before;
  }

  Definitions definitions_;
};

TEST_F(DefinitionsTest, NodesThatAreAlikeShareAProgram) {
  EXPECT_TRUE(is_new(softmax({2, 3}, 1), "first"));
  EXPECT_FALSE(is_new(softmax({2, 3}, 1), "second"));
  EXPECT_EQ(definitions_.size(), 1U);
}

TEST_F(DefinitionsTest, WeightsDoNotTellNodesApart) {
  EXPECT_TRUE(is_new(weighted_product(1)));
  EXPECT_FALSE(is_new(weighted_product(2)));
}

TEST_F(DefinitionsTest, WhatADefinitionLooksAtDoes) {
  EXPECT_TRUE(is_new(softmax({2, 3}, 1)));
  EXPECT_TRUE(is_new(softmax({2, 3}, 0))) << "attributes";
  EXPECT_TRUE(is_new(softmax({2, 4}, 1))) << "sizes";
  EXPECT_TRUE(is_new(softmax({2, 3}, 1, 11))) << "version";
  EXPECT_TRUE(is_new(reshape({3, 4})));
  EXPECT_TRUE(is_new(reshape({4, 3}))) << "values";
  EXPECT_FALSE(is_new(reshape({3, 4})));
  EXPECT_TRUE(is_new(NodeUnderTest("Neg", 13).input(reals({1}, {1}))));
  EXPECT_TRUE(is_new(NodeUnderTest("Abs", 13).input(reals({1}, {1})))) << "operator";
  EXPECT_TRUE(is_new(NodeUnderTest("Neg", 13).input(reals({1}, {1}, ElementType::f64)))) << "type";
  EXPECT_TRUE(is_new(NodeUnderTest("Clip", 13).input(reals({1}, {1})).absent_input().input(reals({}, {1}))));
  EXPECT_TRUE(is_new(NodeUnderTest("Clip", 13).input(reals({1}, {1})).input(reals({}, {1})).absent_input()))
      << "which operands there are";
  EXPECT_TRUE(is_new(NodeUnderTest("Dropout", 13).input(reals({1}, {1}))));
  EXPECT_TRUE(is_new(NodeUnderTest("Dropout", 13, 2).input(reals({1}, {1})))) << "which results are wanted";
}

TEST_F(DefinitionsTest, SizesThatOnlyARunTellsAreTheNodesOwn) {
  const NodeUnderTest nonzero = NodeUnderTest("NonZero", 13).input(reals({2}, {1, 0}));
  EXPECT_TRUE(is_new(nonzero, "first"));
  EXPECT_TRUE(is_new(nonzero, "second"));
  EXPECT_FALSE(is_new(nonzero, "first"));
}

TEST_F(DefinitionsTest, SoIsWhatARandomOperatorStartsFrom) {
  const NodeUnderTest random =
      NodeUnderTest("RandomNormal", 1).set("shape", std::vector<int64_t>{3}).set("dtype", 1);
  EXPECT_TRUE(is_new(random, "first"));
  EXPECT_TRUE(is_new(random, "second"));
}

TEST_F(DefinitionsTest, WhatIsNotYetKnownIsKeptUntilMoreIs) {
  const NodeUnderTest node = reshape({3, 4});
  std::vector<OperandInfo> operands = node.known();
  operands[1].constant = nullptr;
  for (int k = 0; k < 2; ++k) {
    EXPECT_EQ(definitions_.define(node.node(), operands), nullptr);
    EXPECT_EQ(definitions_.size(), 1U);
  }
  EXPECT_TRUE(is_new(node));
}

TEST_F(DefinitionsTest, MistakesAreNotKept) {
  const NodeUnderTest wrong = softmax({2, 3}, 7);
  for (int k = 0; k < 2; ++k) EXPECT_THROW(definitions_.define(wrong.node(), wrong.known()), Error);
  EXPECT_EQ(definitions_.size(), 0U);
}

TEST_F(DefinitionsTest, WhatAProgramGivesForSmallValuesIsComputedOnce) {
  const NodeUnderTest node = NodeUnderTest("Add", 13).input(ints({2}, {1, 2})).input(ints({2}, {3, 4}));
  const std::shared_ptr<const Program> program = definitions_.define(node.node(), node.known());
  const std::vector<Tensor> first = definitions_.evaluate(*program, {ints({2}, {1, 2}), ints({2}, {3, 4})});
  EXPECT_EQ(first.at(0).to_ints(), (std::vector<int64_t>{4, 6}));
  const std::vector<Tensor> same = definitions_.evaluate(*program, {ints({2}, {1, 2}), ints({2}, {3, 4})});
  EXPECT_EQ(same.at(0).data(), first.at(0).data());
  const std::vector<Tensor> other = definitions_.evaluate(*program, {ints({2}, {1, 2}), ints({2}, {3, 5})});
  EXPECT_EQ(other.at(0).to_ints(), (std::vector<int64_t>{4, 7}));
}

TEST_F(DefinitionsTest, SoIsWhatItGivesForElements) {
  const NodeUnderTest node = NodeUnderTest("Add", 13).input(ints({2}, {1, 2})).input(ints({2}, {3, 4}));
  const std::shared_ptr<const Program> program = definitions_.define(node.node(), node.known());
  const Dims n = {Dim::symbol("n"), 2}, m = {Dim::symbol("m"), 2}, two = {2, 2};
  const auto sum = [&](const Dims& left, const Dims& right) {
    return definitions_.evaluate_symbolic(*program, {left, right}, 64).at(0);
  };
  for (int k = 0; k < 2; ++k) {
    EXPECT_EQ(sum(n, two), (Dims{Dim::symbol("n") + 2, 4}));
    EXPECT_EQ(sum(m, two), (Dims{Dim::symbol("m") + 2, 4}));
    EXPECT_EQ(sum(two, two), (Dims{4, 4}));
  }
  EXPECT_FALSE(definitions_.evaluate_symbolic(*program, {n, two}, 1).at(0).has_value()) << "the limit";
}

TEST_F(DefinitionsTest, WhatOtherProgramsGiveIsNotKept) {
  const NodeUnderTest node = NodeUnderTest("Neg", 13).input(ints({1}, {1}));
  const std::vector<Tensor> one = {ints({1}, {1})};
  {
    const Program alone = define_node(node.node(), node.known());
    EXPECT_NE(definitions_.evaluate(alone, one)[0].data(), definitions_.evaluate(alone, one)[0].data());
  }
  const std::shared_ptr<const Program> program = definitions_.define(node.node(), node.known());
  const std::vector<Tensor> kept = definitions_.evaluate(*program, one);
  EXPECT_EQ(definitions_.evaluate(*program, one)[0].data(), kept[0].data());
  definitions_.close();
  const std::vector<Tensor> anew = definitions_.evaluate(*program, one);
  EXPECT_NE(anew[0].data(), kept[0].data());
  EXPECT_EQ(anew[0].to_ints(), kept[0].to_ints());
}

TEST_F(DefinitionsTest, NothingIsKeptOnceTheyAreClosed) {
  EXPECT_TRUE(is_new(softmax({2, 3}, 1)));
  definitions_.close();
  EXPECT_EQ(definitions_.size(), 0U);
  EXPECT_FALSE(is_new(softmax({2, 3}, 1)));
  EXPECT_EQ(definitions_.size(), 0U);
}

}  // namespace
}  // namespace axrun::ir
