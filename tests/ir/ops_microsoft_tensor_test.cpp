// Operators of com.microsoft around linear attention, diffusion and decoding. Expected values are ONNX
// Runtime 1.32's; of those that it runs on other devices only (GroupNorm to BiasSplitGelu) NumPy's, of the
// definitions in ContribOperators.md.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ir/error.h"
#include "tests/ir/microsoft_nodes.h"

namespace axrun::ir::test {
namespace {

std::vector<std::string> texts(const Tensor& tensor) {
  return {tensor.strings(), tensor.strings() + tensor.size()};
}

TEST(MicrosoftTensor, LinearAttentionOfMoreKeyHeadsThanQueryHeads) {
  const auto results = microsoft("LinearAttention", 2)
                           .input(quarters({1, 2, 2}))
                           .input(quarters({1, 2, 4}, 0.5))
                           .input(quarters({1, 2, 2}, 2))
                           .input(quarters({1, 2, 2, 1}, 0.25))
                           .input(quarters({1, 2, 2}, 0.125))
                           .input(quarters({1, 2, 2}, 0.5))
                           .set("q_num_heads", int64_t{1})
                           .set("kv_num_heads", int64_t{2})
                           .run_all();
  expect_near(results[0], {1.352948, 0.3190614, 0.8146374, 0.2530093});
  expect_near(results[1], {-1.219012, 0.4340522, 0.6032084, 0.5275308});
}

TEST(MicrosoftTensor, CausalConvolutionWithDilationAndChannelsLast) {
  const auto results = microsoft("CausalConvWithState", 2)
                           .input(quarters({1, 3, 2}))
                           .input(quarters({2, 1, 2}))
                           .input(quarters({2}))
                           .input(quarters({1, 2, 2}, 3))
                           .set("dilation", int64_t{2})
                           .set("channels_last", int64_t{1})
                           .set("activation", "silu")
                           .run_all();
  expect_near(results[0], {2.653165, 0.22225, 0.22225, 0.1025134, 0.2658526, -0.2300302});
  expect_near(results[1], {-0.5, 1.25, 0.25, -0.75});
}

TEST(MicrosoftTensor, NormsOfGroupsAndGates) {
  expect_near(
      microsoft("GatedRMSNorm").input(quarters({1, 4})).input(quarters({2})).input(quarters({1, 4}, 2)).run(),
      {-0.3112691, 0.1919843, -0.1765677, 1.516814});
  expect_near(microsoft("BranchwiseRMSNorm")
                  .input(quarters({1, 4}))
                  .input(quarters({2, 2}))
                  .set("num_branches", int64_t{2})
                  .run(),
              {1.641321, 0.2626114, 0.2626114, 1.641321});
  const auto gates = microsoft("LinearAttentionGate", 2)
                         .input(quarters({1, 2, 2}))
                         .input(quarters({2}))
                         .input(quarters({2}, -1))
                         .input(quarters({1, 2, 2}, 2))
                         .run_all();
  expect_near(gates[0], {0.09861219, -0.6566308, 0.2002802, -0.9551121});
  expect_near(gates[1], {0.07585818, 0.7310586, 0.2689414, 0.9241418});
  expect_near(microsoft("GatedAdd")
                  .input(quarters({2, 2}))
                  .input(quarters({2, 2}, 2))
                  .input(quarters({2, 1}, 3))
                  .run(),
              {8.125, -3.25, -2, 5});
}

TEST(MicrosoftTensor, SwigluHalvesAndClamps) {
  // G = min(g, 1), L = clamp(u, -1, 1); G sigmoid(2 G) (L + 0.5).
  const auto at = [](double g, double u) {
    g = std::min(g, 1.0);
    u = std::max(-1.0, std::min(u, 1.0));
    return g / (1 + std::exp(-2 * g)) * (u + 0.5);
  };
  const Tensor x = quarters({1, 4});
  expect_near(microsoft("SwiGLU")
                  .input(x)
                  .set_real("limit", 1)
                  .set_real("activation_alpha", 2)
                  .set_real("activation_beta", 0.5)
                  .run(),
              {at(x.get_real(0), x.get_real(2)), at(x.get_real(1), x.get_real(3))});
}

TEST(MicrosoftTensor, RotationsOfThreePositions) {
  const auto turned = [](int64_t layout, int64_t interleaved) {
    return microsoft("MRotaryEmbedding")
        .input(quarters({1, 2, 6}))
        .input(ints({3, 1, 2}, {0, 1, 1, 2, 2, 3}))
        .input(quarters({4, 3}))
        .input(quarters({4, 3}, 0.5))
        .set("mrope_section", std::vector<int64_t>{1, 1, 1})
        .set("mrope_layout", layout)
        .set("interleaved", interleaved)
        .set("num_heads", int64_t{1})
        .run();
  };
  expect_near(turned(0, 0),
              {2.34375, 0.09375, 0.125, -0.78125, 0.125, 1, 0.78125, 0, 0.46875, 1.5625, 0, 2.1875});
  expect_near(turned(1, 1),
              {1.875, 0.15625, -0.28125, 0.25, -0.625, 0.625, 1.25, 0.625, 0, 0, -0.46875, 1.71875});
}

TEST(MicrosoftTensor, GroupsOfChannels) {
  const auto norm = [](const std::string& op, const Shape& shape, int64_t groups, int64_t silu,
                       int64_t last) {
    NodeUnderTest node = microsoft(op, op == "GroupNorm" ? 1 : 2);
    const Shape channels = {last != 0 ? shape.back() : shape[1]};
    node.input(quarters(shape)).input(quarters(channels, 2)).input(quarters(channels, 0.5));
    node.set("groups", groups).set("activation", silu).set("channels_last", last).set_real("epsilon", 0.01F);
    return node;
  };
  expect_near(norm("GroupNorm", {1, 2, 1, 4}, 2, 1, 1).run(),
              {2.442023, 1.097382, 0.7758685, 3.330114, -0.1825247, -0.1465497, -0.2708979, -0.2590079});
  const auto results = norm("SkipGroupNorm", {1, 2, 1, 4}, 2, 0, 1)
                           .input(quarters({1, 4}, 3))
                           .input(quarters({4}, -1))
                           .run_all();
  expect_near(results[0],
              {2.637733, 1.494391, 1.055093, 3.735978, 0.8166728, 0.8873711, 0.3266691, 2.218428});
  expect_near(results[1], {-3.75, 1.5, -1.5, 3.75, -2.25, 0.25, 0, 2.5});
  EXPECT_THROW(norm("GroupNorm", {1, 2, 1, 4}, 3, 0, 1).run(), Error);
}

TEST(MicrosoftTensor, ChannelsFirstAreTheSameInAnotherOrder) {
  const Tensor last = quarters({1, 2, 1, 4});
  Tensor first = Tensor::allocate(ElementType::f32, {1, 4, 2, 1});
  for (int64_t h = 0; h < 2; ++h) {
    for (int64_t c = 0; c < 4; ++c) first.set_real(c * 2 + h, last.get_real(h * 4 + c));
  }
  const auto norm = [](const Tensor& x, int64_t channels_last) {
    return microsoft("GroupNorm")
        .input(x)
        .input(quarters({4}, 2))
        .input(quarters({4}, 0.5))
        .set("groups", int64_t{2})
        .set("activation", int64_t{0})
        .set("channels_last", channels_last)
        .run();
  };
  const Tensor a = norm(last, 1), b = norm(first, 0);
  for (int64_t h = 0; h < 2; ++h) {
    for (int64_t c = 0; c < 4; ++c) EXPECT_EQ(a.get_real(h * 4 + c), b.get_real(c * 2 + h)) << c;
  }
}

TEST(MicrosoftTensor, BiasesOfDiffusion) {
  expect_near(microsoft("BiasAdd")
                  .input(quarters({1, 2, 4}))
                  .input(quarters({4}, 2))
                  .input(quarters({1, 2, 4}, -3))
                  .run(),
              {0, 0, 0, 0, -3, 2.5, -3, 2.5});
  expect_near(microsoft("BiasSplitGelu").input(quarters({1, 2, 4})).input(quarters({4}, 2)).run(),
              {0.3757905, 5.624503, 0, 0.621119});
}

TEST(MicrosoftTensor, PathsInversesAndWindows) {
  Tensor costs = quarters({3, 4});
  for (int64_t k = 0; k < costs.size(); ++k) costs.set_real(k, std::fabs(costs.get_real(k)));
  EXPECT_EQ(microsoft("DynamicTimeWarping").input(costs).run().to_ints(),
            (std::vector<int64_t>{0, 1, 2, 2, 0, 1, 2, 3}));
  expect_near(microsoft("Inverse").input(quarters({2, 2})).run(),
              {-0.952381, 0.3809524, -0.3809524, 0.952381});
  const Tensor windows =
      microsoft("UnfoldTensor").input(quarters({4})).set("size", int64_t{2}).set("step", int64_t{2}).run();
  EXPECT_EQ(windows.shape(), (Shape{2, 2}));
  expect_near(windows, {-1.25, 0.5, -0.5, 1.25});
  const auto found = microsoft("Unique", 3).input(reals({5}, {2, 1, 1, 3, 2})).run_all();
  expect_near(found[0], {2, 1, 3});
  EXPECT_EQ(found[1].to_ints(), (std::vector<int64_t>{0, 1, 1, 2, 0}));
  EXPECT_EQ(found[2].to_ints(), (std::vector<int64_t>{2, 2, 1}));
}

TEST(MicrosoftTensor, RepeatedSequencesAreForbidden) {
  expect_near(microsoft("NGramRepeatBlock")
                  .input(ints({1, 5}, {1, 2, 0, 1, 2}))
                  .input(quarters({1, 3}))
                  .set("ngram_size", int64_t{3})
                  .run(),
              {-std::numeric_limits<double>::infinity(), 0.5, -0.5});
}

TEST(MicrosoftTensor, ProductsOfManyKinds) {
  EXPECT_EQ(microsoft("MatMulInteger16")
                .input(ints({1, 2}, {-32768, 2}, ElementType::i16))
                .input(ints({2, 1}, {3, -4}, ElementType::i16))
                .run()
                .to_ints(),
            (std::vector<int64_t>{-98312}));
  expect_near(microsoft("ConvTransposeWithDynamicPads")
                  .input(quarters({1, 1, 2, 2}))
                  .input(quarters({1, 1, 2, 2}))
                  .input(ints({4}, {0, 1, 0, 0}))
                  .set("strides", std::vector<int64_t>{2, 1})
                  .set("kernel_shape", std::vector<int64_t>{2, 2})
                  .run(),
              {-1.25, 0.25, -1.8125, 0.625, -1.8125, 0.625, -1.25, 1.5625});
  std::vector<int64_t> order;
  for (int64_t k = 0; k < 32; ++k) order.push_back(k / 3 % 2);
  expect_near(microsoft("MatMulNBits")
                  .input(quarters({1, 32}))
                  .input(bytes({1, 2, 8}))
                  .input(reals({2}, {0.25, 0.5}))
                  .absent_input()
                  .input(ints({32}, order, ElementType::i32))
                  .set("K", int64_t{32})
                  .set("N", int64_t{1})
                  .set("block_size", int64_t{16})
                  .run(),
              {-5.0625});
}

TEST(MicrosoftTensor, EmbeddingsOfBytes) {
  NodeUnderTest node = microsoft("QEmbedLayerNormalization", 2);
  const auto ids = [](int64_t a, int64_t b) { return ints({1, 2}, {a, b}, ElementType::i32); };
  node.input(ids(1, 0)).input(ids(0, 1));
  node.input(bytes({2, 3})).input(bytes({2, 3})).input(bytes({2, 3})).input(bytes({3})).input(bytes({3}));
  node.input(ids(1, 0));
  for (const double scale : {0.01, 0.02, 0.03, 0.04, 0.05}) node.input(number(scale));
  for (const int64_t zero : {3, 5, 7, 9, 11}) node.input(ints({}, {zero}, ElementType::u8));
  const auto results = node.set_real("epsilon", 0.01F).run_all();
  expect_near(results[0], {-0.09783082, 1.85, 7.417572, -0.09783085, 1.85, 7.41757});
  EXPECT_EQ(results[1].to_ints(), (std::vector<int64_t>{1}));
}

TEST(Strings, ArePaddedCroppedAndCutToTriangles) {
  const Tensor x = Tensor::from_strings({2, 2}, {"a", "b", "c", "d"});
  using Texts = std::vector<std::string>;
  EXPECT_EQ(texts(NodeUnderTest("Pad", 25).input(x).input(ints({4}, {0, 1, 0, 0})).run()),
            (Texts{"", "a", "b", "", "c", "d"}));
  EXPECT_EQ(texts(NodeUnderTest("Pad", 25).input(x).input(ints({4}, {0, 1, 0, 0})).set("mode", "edge").run()),
            (Texts{"a", "a", "b", "c", "c", "d"}));
  EXPECT_EQ(texts(NodeUnderTest("CenterCropPad", 18).input(x).input(ints({2}, {1, 3})).run()),
            (Texts{"a", "b", ""}));
  EXPECT_EQ(texts(NodeUnderTest("Trilu", 14).input(x).run()), (Texts{"a", "b", "", "d"}));
}

TEST(Quantization, ScalesMayBePowersOfTwo) {
  const Tensor scale = reals({}, {0.5}, ElementType::f8e8m0);
  const Tensor x = reals({3}, {0.75, -3, 1.2});
  EXPECT_EQ(NodeUnderTest("QuantizeLinear", 28)
                .input(x)
                .input(scale)
                .input(ints({}, {3}, ElementType::i8))
                .run()
                .to_ints(),
            (std::vector<int64_t>{5, -3, 5}));
  const Tensor q = ints({2}, {-5, 6}, ElementType::i8);
  EXPECT_EQ(
      to_reals(
          NodeUnderTest("DequantizeLinear", 28).input(q).input(scale).set("output_dtype", int64_t{1}).run()),
      (std::vector<double>{-2.5, 3}));
}

TEST(Attention, ValuesMayHaveAnotherType) {
  const auto attended = [](ElementType type) {
    const Tensor q = reals({1, 1, 1, 2}, {0.5, -1});
    const Tensor k = reals({1, 1, 2, 2}, {1, 0.25, -0.5, 2});
    return NodeUnderTest("Attention", 24)
        .input(q)
        .input(k)
        .input(reals({1, 1, 2, 2}, {1, 2, 3, 4}, type))
        .run();
  };
  const Tensor same = attended(ElementType::f32), other = attended(ElementType::f64);
  EXPECT_EQ(other.type(), ElementType::f32);
  EXPECT_EQ(to_reals(same), to_reals(other));
}

}  // namespace
}  // namespace axrun::ir::test
