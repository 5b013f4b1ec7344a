#include <gtest/gtest.h>

#include "tests/ir/node_under_test.h"

namespace axrun::ir::test {
namespace {

using enum ElementType;

TEST(QuantizeLinear, RoundsHalfToEvenAndSaturates) {
  const Tensor x = reals({6}, {0.5, 1.5, -0.5, 1000, -1000, 2.5});
  const Tensor one = Tensor::scalar(f32, 1);
  EXPECT_EQ(NodeUnderTest("QuantizeLinear", 10).input(x).input(one).run().to_ints(),
            (Ints{0, 2, 0, 255, 0, 2}));
  const auto quantized = [&](ElementType type, int64_t zero) {
    return NodeUnderTest("QuantizeLinear", 21)
        .input(x)
        .input(one)
        .input(ints({}, {zero}, type))
        .run()
        .to_ints();
  };
  EXPECT_EQ(quantized(i8, 1), (Ints{1, 3, 1, 127, -128, 3}));
  EXPECT_EQ(quantized(i4, -1), (Ints{-1, 1, -1, 7, -8, 1}));
  EXPECT_EQ(quantized(u4, 0), (Ints{0, 2, 0, 15, 0, 2}));
  EXPECT_EQ(quantized(u16, 0), (Ints{0, 2, 0, 1000, 0, 2}));
}

TEST(QuantizeLinear, TheQuotientIsRoundedBeforeItIsRoundedToAnInteger) {
  // 0.99f / 0.18f is 5.4999998 over the reals and 5.5 in f32.
  const Tensor x = reals({1}, {0.99});
  EXPECT_LT(x.get_real(0) / static_cast<double>(0.18F), 5.5);
  const Tensor scale = Tensor::scalar(f32, 0.18);
  EXPECT_EQ(NodeUnderTest("QuantizeLinear", 13).input(x).input(scale).run().get_int(0), 6);
}

TEST(QuantizeLinear, PerAxisAndBlocked) {
  const Tensor x = reals({2, 3}, {1, 2, 3, 4, 5, 6});
  NodeUnderTest axis("QuantizeLinear", 13);
  axis.input(x).input(reals({2}, {1, 2})).input(ints({2}, {0, 10}, u8)).set("axis", int64_t{-2});
  EXPECT_EQ(axis.run().to_ints(), (Ints{1, 2, 3, 12, 12, 13}));
  NodeUnderTest blocked("QuantizeLinear", 21);
  blocked.input(x).input(reals({2, 2}, {1, 3, 2, 6})).set("axis", int64_t{1}).set("block_size", int64_t{2});
  EXPECT_EQ(blocked.run().to_ints(), (Ints{1, 2, 1, 2, 2, 1}));
  NodeUnderTest wrong("QuantizeLinear", 21);
  wrong.input(x).input(reals({2, 2}, {1, 3, 2, 6})).set("axis", int64_t{1}).set("block_size", int64_t{3});
  EXPECT_THROW(wrong.run(), Error);
  EXPECT_THROW(NodeUnderTest("QuantizeLinear", 13).input(x).input(reals({2}, {1, 2})).run(), Error);
}

TEST(QuantizeLinear, AScaleOfNamedSizeMayBeOne) {
  NodeUnderTest node("QuantizeLinear", 21);
  node.input(reals({3}, {1, 2, 3})).input(reals({1}, {2}));
  EXPECT_EQ(node.run().to_ints(), (Ints{0, 1, 2}));
  EXPECT_THROW(node.output_dims(1, {Dim::symbol("n")}), NotYetKnown) << "axis 1 is not there";
  EXPECT_THROW(node.output_dims(1, {2}), Error);
}

TEST(QuantizeLinear, OutputTypeAndFloat8) {
  const Tensor x = reals({2}, {1000, 0.3});
  const Tensor one = Tensor::scalar(f32, 1);
  constexpr int64_t onnx_float8e4m3fn = 17;
  NodeUnderTest node("QuantizeLinear", 21);
  node.input(x).input(one).set("output_dtype", onnx_float8e4m3fn);
  EXPECT_EQ(to_reals(node.run()), (Reals{448, 0.3125}));
  EXPECT_NE(node.set("saturate", int64_t{0}).run().get_real(0), 448);
  node.input(ints({}, {0}, u8));
  EXPECT_THROW(node.run(), Error);
}

TEST(DequantizeLinear, ExactDifferenceTimesScale) {
  const Tensor bytes = ints({3}, {0, 128, 255}, u8);
  const Tensor half = Tensor::scalar(f32, 0.5);
  const Tensor y =
      NodeUnderTest("DequantizeLinear", 10).input(bytes).input(half).input(ints({}, {128}, u8)).run();
  EXPECT_EQ(to_reals(y), (Reals{-64, 0, 63.5}));
  const Tensor words = ints({2}, {-1000000, 5}, i32);
  EXPECT_EQ(to_reals(NodeUnderTest("DequantizeLinear", 13).input(words).input(half).run()),
            (Reals{-500000, 2.5}));
  NodeUnderTest narrow("DequantizeLinear", 19);
  EXPECT_EQ(narrow.input(bytes).input(Tensor::scalar(f16, 0.5)).run().type(), f16);
  NodeUnderTest mixed("DequantizeLinear", 10);
  EXPECT_THROW(mixed.input(bytes).input(half).input(ints({}, {1}, i8)).run(), Error);
}

TEST(DynamicQuantizeLinear, TheRangeIncludesZero) {
  NodeUnderTest node("DynamicQuantizeLinear", 11, 3);
  const std::vector<Tensor> y = node.input(reals({3}, {-51, 0, 204})).run_all();
  EXPECT_EQ(y[0].to_ints(), (Ints{0, 51, 255}));
  EXPECT_EQ(y[1].get_real(0), 1);
  EXPECT_EQ(y[2].get_int(0), 51);
  NodeUnderTest positive("DynamicQuantizeLinear", 11, 3);
  EXPECT_EQ(positive.input(reals({2}, {127.5, 255})).run_all()[2].get_int(0), 0);
  NodeUnderTest zeros("DynamicQuantizeLinear", 11, 3);
  EXPECT_EQ(zeros.input(reals({2}, {0, 0})).run_all()[0].to_ints(), (Ints{0, 0}));
}

}  // namespace
}  // namespace axrun::ir::test
