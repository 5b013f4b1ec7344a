// Signal, loss and training operators.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/ir/node_under_test.h"

namespace axrun::ir::test {
namespace {

Tensor seeded_reals(uint32_t seed, const Shape& shape) {
  std::mt19937 random(seed);
  return random_reals(random, shape);
}

TEST(DFT, OfAnImpulseAndOfAConstant) {
  const Tensor impulse = reals({1, 4, 1}, {0, 1, 0, 0});
  expect_within(NodeUnderTest("DFT", 17).input(impulse).run(), {1, 0, 0, -1, -1, 0, 0, 1});
  const Tensor constant = reals({1, 4, 1}, {1, 1, 1, 1});
  expect_within(NodeUnderTest("DFT", 17).input(constant).set("onesided", int64_t{1}).run(),
                {4, 0, 0, 0, 0, 0});
  // Cut to two points, and padded with zeros to six.
  expect_within(NodeUnderTest("DFT", 17).input(constant).input(ints({}, {2})).run(), {2, 0, 0, 0});
  EXPECT_EQ(NodeUnderTest("DFT", 17).input(constant).input(ints({}, {6})).run().shape(), (Shape{1, 6, 2}));
}

TEST(DFT, InverseGivesTheSignalBack) {
  for (int64_t length : {1, 5, 8}) {
    const Tensor x = seeded_reals(1, {2, length, 2});
    const Tensor spectrum = NodeUnderTest("DFT", 20).input(x).run();
    expect_within(NodeUnderTest("DFT", 20).input(spectrum).set("inverse", int64_t{1}).run(), to_reals(x),
                  1e-12);
    const Tensor real = seeded_reals(2, {2, length, 1});
    const Tensor half = NodeUnderTest("DFT", 20).input(real).set("onesided", int64_t{1}).run();
    NodeUnderTest back("DFT", 20);
    back.input(half).input(ints({}, {length})).set("onesided", int64_t{1}).set("inverse", int64_t{1});
    expect_within(back.run(), to_reals(real), 1e-12);
  }
}

TEST(DFT, AxesAndWhatIsRefused) {
  const Tensor x = seeded_reals(3, {3, 2, 1});
  EXPECT_EQ(NodeUnderTest("DFT", 20).input(x).absent_input().input(ints({}, {0})).run().shape(),
            (Shape{3, 2, 2}));
  EXPECT_THROW(NodeUnderTest("DFT", 20).input(x).absent_input().input(ints({}, {-1})).run(), Error);
  EXPECT_THROW(NodeUnderTest("DFT", 17).input(x).input(ints({}, {0})).run(), Error);
  EXPECT_THROW(NodeUnderTest("DFT", 17).input(seeded_reals(3, {3, 2})).run(), Error);
  EXPECT_EQ(NodeUnderTest("DFT", 17).input(seeded_reals(3, {2, 0, 1})).run().shape(), (Shape{2, 0, 2}));
}

TEST(STFT, FramesAreTransformsOfParts) {
  const Tensor signal = seeded_reals(4, {1, 6, 1});
  NodeUnderTest node("STFT", 17);
  node.input(signal).input(ints({}, {2})).absent_input().input(ints({}, {4}));
  const Tensor frames = node.run();
  ASSERT_EQ(frames.shape(), (Shape{1, 2, 3, 2}));
  Tensor second = Tensor::allocate(ElementType::f64, {1, 4, 1});
  for (int64_t k = 0; k < 4; ++k) second.set_real(k, signal.get_real(k + 2));
  const Tensor expected = NodeUnderTest("DFT", 17).input(second).set("onesided", int64_t{1}).run();
  for (int64_t k = 0; k < 6; ++k) EXPECT_NEAR(frames.get_real(6 + k), expected.get_real(k), 1e-12);
}

TEST(STFT, OneSideOfComplexSignals) {
  const Tensor signal = seeded_reals(5, {1, 6, 2});
  NodeUnderTest node("STFT", 17);
  node.input(signal).input(ints({}, {2})).absent_input().input(ints({}, {4}));
  const Tensor half = node.run(), whole = node.set("onesided", int64_t{0}).run();
  ASSERT_EQ(half.shape(), (Shape{1, 2, 3, 2}));
  ASSERT_EQ(whole.shape(), (Shape{1, 2, 4, 2}));
  for (int64_t frame = 0; frame < 2; ++frame)
    for (int64_t k = 0; k < 6; ++k)
      EXPECT_EQ(half.get_real(frame * 6 + k), whole.get_real(frame * 8 + k)) << frame << " " << k;
}

TEST(Windows, PeriodicAndSymmetric) {
  const auto window = [](const char* op, int64_t size, int64_t periodic) {
    return NodeUnderTest(op, 17).input(ints({}, {size})).set("periodic", periodic).run();
  };
  expect_within(window("HannWindow", 4, 1), {0, 0.5, 1, 0.5});
  expect_within(window("HannWindow", 5, 0), {0, 0.5, 1, 0.5, 0});
  expect_within(window("HannWindow", 1, 0), {1});
  expect_within(window("HammingWindow", 2, 1), {4.0 / 46, 1});
  expect_within(window("BlackmanWindow", 4, 1), {0, 0.34, 1, 0.34});
  EXPECT_THROW(window("HannWindow", -1, 1), Error);
}

TEST(MelWeightMatrix, TrianglesPeakAtOne) {
  NodeUnderTest node("MelWeightMatrix", 17);
  node.input(ints({}, {4})).input(ints({}, {64})).input(ints({}, {8192}));
  node.input(Tensor::scalar(ElementType::f32, 0)).input(Tensor::scalar(ElementType::f32, 4000));
  const Tensor m = node.run();
  ASSERT_EQ(m.shape(), (Shape{33, 4}));
  for (int64_t filter = 0; filter < 4; ++filter) {
    double largest = 0;
    for (int64_t bin = 0; bin < 33; ++bin) largest = std::max(largest, m.get_real(bin * 4 + filter));
    EXPECT_EQ(largest, 1);
  }
}

TEST(NegativeLogLikelihoodLoss, WeightsReductionsAndIgnoredLabels) {
  const auto loss = [](const std::string& reduction) {
    NodeUnderTest node("NegativeLogLikelihoodLoss", 13);
    node.input(reals({3, 2}, {-1, -2, -3, -4, -5, -6}))
        .input(ints({3}, {1, -7, 0}))
        .input(reals({2}, {1, 3}));
    return to_reals(node.set("reduction", reduction).set("ignore_index", int64_t{-7}).run());
  };
  EXPECT_EQ(loss("none"), (Reals{6, 0, 5}));
  EXPECT_EQ(loss("sum"), Reals{11});
  EXPECT_EQ(loss("mean"), Reals{11.0 / 4});
  NodeUnderTest outside("NegativeLogLikelihoodLoss", 13);
  EXPECT_THROW(outside.input(reals({1, 2}, {0, 0})).input(ints({1}, {2})).run(), Error);
}

TEST(SoftmaxCrossEntropyLoss, IsTheLossOfLogSoftmax) {
  const Tensor scores = seeded_reals(5, {2, 3, 2});
  const Tensor labels = ints({2, 2}, {0, 2, 1, 1});
  NodeUnderTest node("SoftmaxCrossEntropyLoss", 13, 2);
  const std::vector<Tensor> y = node.input(scores).input(labels).run_all();
  const Tensor logs = NodeUnderTest("LogSoftmax", 13).input(scores).set("axis", int64_t{1}).run();
  expect_within(y[1], to_reals(logs), 1e-12);
  const Tensor loss = NodeUnderTest("NegativeLogLikelihoodLoss", 13).input(logs).input(labels).run();
  EXPECT_NEAR(y[0].get_real(0), loss.get_real(0), 1e-12);
}

TEST(Training, OneStepOfEachOptimizer) {
  const auto tensor = [](double value) { return reals({1}, {value}, ElementType::f64); };
  const std::string domain = "ai.onnx.preview.training";
  NodeUnderTest adagrad("Adagrad", 1, 2);
  adagrad.in_domain(domain).input(tensor(0.5)).input(ints({}, {1})).input(tensor(2)).input(tensor(3));
  adagrad.input(tensor(16)).set_real("decay_factor", 1).set_real("epsilon", 0);
  const std::vector<Tensor> a = adagrad.run_all();
  EXPECT_NEAR(a[0].get_real(0), 2 - 0.25 * 3 / 5, 1e-12);
  EXPECT_EQ(a[1].get_real(0), 25);

  NodeUnderTest momentum("Momentum", 1, 2);
  momentum.in_domain(domain).input(tensor(0.5)).input(ints({}, {0})).input(tensor(2)).input(tensor(3));
  momentum.input(tensor(4)).set_real("alpha", 0.5).set_real("beta", 9).set_real("norm_coefficient", 1);
  // The first step ignores beta: v = 0.5 * 4 + (2 + 3).
  EXPECT_EQ(to_reals(momentum.set("mode", "standard").run_all()[0]), Reals{2 - 0.5 * 7});
  EXPECT_EQ(to_reals(momentum.set("mode", "nesterov").run_all()[0]), Reals{2 - 0.5 * (5 + 0.5 * 7)});

  NodeUnderTest adam("Adam", 1, 3);
  adam.in_domain(domain).input(tensor(0.5)).input(ints({}, {1})).input(tensor(2)).input(tensor(3));
  adam.input(tensor(0)).input(tensor(0)).set_real("epsilon", 0);
  // With empty accumulators the first step has the length of the rate.
  EXPECT_NEAR(adam.run_all()[0].get_real(0), 1.5, 1e-6);
  NodeUnderTest short_list("Adam", 1, 3);
  short_list.in_domain(domain).input(tensor(1)).input(ints({}, {1})).input(tensor(2)).input(tensor(3));
  EXPECT_THROW(short_list.run(), Error);
}

}  // namespace
}  // namespace axrun::ir::test
