#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/ir/node_under_test.h"

namespace axrun::ir::test {
namespace {

TEST(Softmax, UsedToFlattenAndNowReducesOneAxis) {
  const Tensor x = reals({1, 2, 2}, {0, std::log(3.0), std::log(3.0), 0});
  expect_within(NodeUnderTest("Softmax", 11).input(x).run(), {0.125, 0.375, 0.375, 0.125});
  expect_within(NodeUnderTest("Softmax", 13).input(x).run(), {0.25, 0.75, 0.75, 0.25});
  expect_within(NodeUnderTest("Softmax", 13).input(x).set("axis", int64_t{0}).run(), {1, 1, 1, 1});
  // Axis = rank flattens to a column: every row has one element.
  expect_within(NodeUnderTest("Softmax", 11).input(x).set("axis", int64_t{3}).run(), {1, 1, 1, 1});
  EXPECT_THROW(NodeUnderTest("Softmax", 13).input(x).set("axis", int64_t{3}).run(), Error);
}

TEST(Softmax, LargeValuesDoNotOverflow) {
  const Tensor x = reals({3}, {1000, 1000, -inf});
  expect_within(NodeUnderTest("Softmax", 13).input(x).run(), {0.5, 0.5, 0});
  const Tensor logs = NodeUnderTest("LogSoftmax", 13).input(x).run();
  EXPECT_NEAR(logs.get_real(0), -std::log(2.0), 1e-6);
  EXPECT_EQ(logs.get_real(2), -inf);
  EXPECT_EQ(NodeUnderTest("Softmax", 13).input(reals({2, 0}, {})).run().shape(), (Shape{2, 0}));
}

TEST(Hardmax, MarksTheFirstMaximum) {
  const Tensor x = reals({2, 3}, {1, 5, 5, -inf, -inf, -inf});
  EXPECT_EQ(to_reals(NodeUnderTest("Hardmax", 13).input(x).run()), (Reals{0, 1, 0, 1, 0, 0}));
  EXPECT_EQ(to_reals(NodeUnderTest("Hardmax", 11).input(x).set("axis", int64_t{0}).run()),
            (Reals{0, 1, 0, 0, 0, 0}));
}

NodeUnderTest batch_normalization(int version, int outputs, const Tensor& x) {
  NodeUnderTest node("BatchNormalization", version, outputs);
  node.input(x).input(reals({2}, {2, 1})).input(reals({2}, {1, 0}));
  node.input(reals({2}, {0, 4})).input(reals({2}, {4, 1})).set_real("epsilon", 0);
  return node;
}

TEST(BatchNormalization, GivenStatistics) {
  const Tensor x = reals({1, 2, 2}, {2, 4, 5, 6});
  for (int version : {1, 7, 9, 15}) {
    expect_within(batch_normalization(version, 1, x).run(), {3, 5, 1, 2});
  }
}

TEST(BatchNormalization, StatisticsOfTheBatch) {
  const Tensor x = reals({2, 2, 1}, {1, 10, 3, 14});
  const std::vector<Tensor> y =
      batch_normalization(15, 3, x).set("training_mode", int64_t{1}).set_real("momentum", 0.75).run_all();
  // Channel means 2 and 12, variances 1 and 4.
  expect_within(y[0], {-1, -1, 3, 1});
  expect_within(y[1], {0.5, 6});
  expect_within(y[2], {3.25, 1.75});
  const std::vector<Tensor> old = batch_normalization(9, 5, x).set_real("momentum", 0.75).run_all();
  expect_within(old[2], {3.25, 1.75});
  expect_within(old[3], {2, 12});
  expect_within(old[4], {1, 4});
  EXPECT_THROW(batch_normalization(15, 3, x).run(), Error);
}

TEST(BatchNormalization, PerElementBeforeOpset9) {
  NodeUnderTest node("BatchNormalization", 7);
  node.input(reals({2, 1, 2}, {1, 2, 3, 4})).set("spatial", int64_t{0}).set_real("epsilon", 0);
  for (const Reals& values : {Reals{1, 10}, Reals{0, 0}, Reals{1, 2}, Reals{1, 4}}) {
    node.input(reals({1, 2}, values));
  }
  expect_within(node.run(), {0, 0, 2, 10});
}

TEST(InstanceNormalization, IsGroupNormalizationOfSingleChannels) {
  const Tensor x = reals({1, 2, 2, 2}, {1, 2, 3, 6, -1, 0, 4, 5});
  const Tensor scale = reals({2}, {2, 3});
  const Tensor bias = reals({2}, {1, -1});
  const Tensor instance = NodeUnderTest("InstanceNormalization", 6).input(x).input(scale).input(bias).run();
  for (int version : {18, 21}) {
    NodeUnderTest group("GroupNormalization", version);
    group.input(x).input(scale).input(bias).set("num_groups", int64_t{2});
    EXPECT_EQ(to_reals(group.run()), to_reals(instance)) << version;
  }
  NodeUnderTest odd("GroupNormalization", 21);
  EXPECT_THROW(odd.input(x).input(scale).input(bias).set("num_groups", int64_t{3}).run(), Error);
}

TEST(GroupNormalization, ScaleIsPerGroupThenPerChannel) {
  const Tensor x = reals({1, 4, 1}, {-1, 1, -1, 1});
  const auto normalized = [&](int version, const Reals& scale) {
    const auto size = static_cast<int64_t>(scale.size());
    NodeUnderTest node("GroupNormalization", version);
    node.input(x).input(reals({size}, scale)).input(Tensor::allocate(ElementType::f32, {size}));
    return node.set("num_groups", int64_t{2}).set_real("epsilon", 0).run();
  };
  expect_within(normalized(18, {2, 3}), {-2, 2, -3, 3});
  expect_within(normalized(21, {1, 2, 3, 4}), {-1, 2, -3, 4});
}

TEST(LayerNormalization, ThreeOutputs) {
  NodeUnderTest node("LayerNormalization", 17, 3);
  node.input(reals({2, 2}, {1, 3, 2, 10})).input(reals({2}, {1, 2})).input(reals({2}, {0, 1}));
  const std::vector<Tensor> y = node.set_real("epsilon", 0).run_all();
  expect_within(y[0], {-1, 3, -1, 3});
  EXPECT_EQ(y[1].shape(), (Shape{2, 1}));
  expect_within(y[1], {2, 6});
  expect_within(y[2], {1, 0.25});
}

TEST(LayerNormalization, HalfPrecisionStatisticsDoNotOverflow) {
  NodeUnderTest node("LayerNormalization", 17, 2);
  node.input(reals({1, 2}, {60000, 40000}, ElementType::f16));
  node.input(reals({2}, {1, 1}, ElementType::f16));
  const std::vector<Tensor> y = node.run_all();
  EXPECT_EQ(to_reals(y[0]), (Reals{1, -1}));
  EXPECT_EQ(y[1].type(), ElementType::f32);
  EXPECT_EQ(y[1].get_real(0), 50000);
}

TEST(RMSNormalization, DividesByTheRootOfTheMeanSquare) {
  NodeUnderTest node("RMSNormalization", 23);
  node.input(reals({1, 2}, {1, 7})).input(reals({2}, {5, 10})).set_real("epsilon", 0);
  expect_within(node.run(), {1, 14});
}

TEST(LRN, WindowOfChannels) {
  NodeUnderTest node("LRN", 13);
  node.input(reals({1, 3, 1}, {1, 2, 3})).set("size", int64_t{2}).set_real("alpha", 2).set_real("beta", 1);
  // size 2: the channel itself and the next one.
  expect_within(node.run(), {1.0 / 6, 2.0 / 14, 3.0 / 10});
}

TEST(LpNormalization, ZeroStaysZero) {
  const Tensor x = reals({2, 2}, {3, -4, 0, 0});
  expect_within(NodeUnderTest("LpNormalization", 1).input(x).run(), {0.6, -0.8, 0, 0});
  expect_within(NodeUnderTest("LpNormalization", 1).input(x).set("p", int64_t{1}).run(),
                {3.0 / 7, -4.0 / 7, 0, 0});
}

TEST(MeanVarianceNormalization, DefaultAxesKeepChannels) {
  const Tensor x = reals({2, 2, 1, 1}, {1, 10, 3, 30});
  expect_within(NodeUnderTest("MeanVarianceNormalization", 13).input(x).run(), {-1, -1, 1, 1});
  EXPECT_THROW(NodeUnderTest("MeanVarianceNormalization", 13).input(reals({2}, {1, 2})).run(), Error);
}

}  // namespace
}  // namespace axrun::ir::test
