#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/ir/node_under_test.h"

namespace axrun::ir::test {
namespace {

TEST(MaxPool, PaddingIsNeverTheMaximum) {
  const Tensor x = reals({1, 1, 3}, {-5, -inf, -7});
  NodeUnderTest node("MaxPool", 12, 2);
  node.input(x).set("kernel_shape", Ints{2}).set("pads", Ints{1, 0}).set("strides", Ints{1});
  const std::vector<Tensor> y = node.run_all();
  EXPECT_EQ(to_reals(y[0]), (Reals{-5, -5, -7}));
  EXPECT_EQ(y[1].to_ints(), (Ints{0, 0, 2}));
}

TEST(MaxPool, NaNIsTheMaximumAndTheFirstOfEqualsIsChosen) {
  NodeUnderTest node("MaxPool", 12, 2);
  node.input(reals({1, 1, 4}, {3, nan, 2, 2})).set("kernel_shape", Ints{2}).set("strides", Ints{2});
  const std::vector<Tensor> y = node.run_all();
  EXPECT_TRUE(std::isnan(y[0].get_real(0)));
  EXPECT_EQ(y[0].get_real(1), 2);
  EXPECT_EQ(y[1].to_ints(), (Ints{1, 2}));
}

TEST(MaxPool, IndicesCountTheWholeInputInEitherOrder) {
  const Tensor x = reals({1, 2, 2, 3}, {0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 9, 0});
  const auto indices = [&](int64_t order) {
    NodeUnderTest node("MaxPool", 12, 2);
    node.input(x).set("kernel_shape", Ints{2, 3}).set("storage_order", order);
    return node.run_all()[1].to_ints();
  };
  EXPECT_EQ(indices(0), (Ints{2, 10}));
  EXPECT_EQ(indices(1), (Ints{4, 9}));  // (0, 2) is 2 * 2 + 0 and (1, 1) is 6 + 1 * 2 + 1
}

TEST(MaxPool, CeilModeDropsWindowsThatStartInThePadding) {
  const auto shape = [](int64_t size, const Ints& pads, int64_t stride) {
    return NodeUnderTest("MaxPool", 12)
        .input(Tensor::allocate(ElementType::f32, {1, 1, size}))
        .set("kernel_shape", Ints{2})
        .set("strides", Ints{stride})
        .set("pads", pads)
        .set("ceil_mode", int64_t{1})
        .run()
        .shape()[2];
  };
  EXPECT_EQ(shape(5, {0, 0}, 2), 3);
  EXPECT_EQ(shape(4, {0, 1}, 4), 1);  // a second window would start at 4
  EXPECT_EQ(shape(4, {1, 1}, 3), 2);
}

TEST(MaxPool, BytesAndWindowsThatDoNotFit) {
  const Tensor x = ints({1, 1, 2}, {-100, -3}, ElementType::i8);
  EXPECT_EQ(NodeUnderTest("MaxPool", 12).input(x).set("kernel_shape", Ints{2}).run().get_int(0), -3);
  EXPECT_THROW(NodeUnderTest("MaxPool", 12).input(x).set("kernel_shape", Ints{9}).run(), Error);
  EXPECT_THROW(NodeUnderTest("MaxPool", 12).input(x).run(), Error);
}

TEST(AveragePool, CountsWhatTheWindowCovers) {
  const auto pooled = [](int64_t include, int64_t ceil) {
    return to_reals(NodeUnderTest("AveragePool", 19)
                        .input(reals({1, 1, 5}, {2, 4, 6, 8, 10}))
                        .set("kernel_shape", Ints{3})
                        .set("strides", Ints{2})
                        .set("pads", Ints{1, 0})
                        .set("count_include_pad", include)
                        .set("ceil_mode", ceil)
                        .run());
  };
  EXPECT_EQ(pooled(0, 0), (Reals{3, 6}));
  EXPECT_EQ(pooled(1, 0), (Reals{2, 6}));
  // The third window covers the last two elements; what ceil_mode adds past the padding is not counted.
  EXPECT_EQ(pooled(1, 1), (Reals{2, 6, 9}));
}

TEST(AveragePool, DilatedWindowsCountTheirPoints) {
  const Tensor y = NodeUnderTest("AveragePool", 19)
                       .input(reals({1, 1, 4}, {1, 2, 3, 4}))
                       .set("kernel_shape", Ints{3})
                       .set("dilations", Ints{2})
                       .set("pads", Ints{2, 2})
                       .run();
  EXPECT_EQ(to_reals(y), (Reals{2, 3, 2, 3}));
}

TEST(LpPool, NormsOfWindows) {
  const auto pooled = [](int64_t p) {
    return NodeUnderTest("LpPool", 11)
        .input(reals({1, 1, 2}, {-3, 4}))
        .set("kernel_shape", Ints{2})
        .set("p", p)
        .run()
        .get_real(0);
  };
  EXPECT_EQ(pooled(1), 7);
  EXPECT_EQ(pooled(2), 5);
  EXPECT_FLOAT_EQ(static_cast<float>(pooled(3)), std::cbrt(91.0F));
  EXPECT_THROW(pooled(0), Error);
}

TEST(MaxUnpool, PutsElementsBack) {
  NodeUnderTest node("MaxUnpool", 11);
  node.input(reals({1, 1, 2}, {5, 7})).input(ints({1, 1, 2}, {1, 2})).set("kernel_shape", Ints{2});
  EXPECT_EQ(to_reals(node.set("strides", Ints{2}).run()), (Reals{0, 5, 7, 0}));
  NodeUnderTest outside("MaxUnpool", 11);
  outside.input(reals({1, 1, 1}, {5})).input(ints({1, 1, 1}, {9})).set("kernel_shape", Ints{2});
  EXPECT_THROW(outside.run(), Error);
}

TEST(RoiAlign, SamplesOfAPlaneAreItsValues) {
  // f(y, x) = x + 10 y is reproduced by linear interpolation wherever samples stay inside.
  Tensor x = Tensor::allocate(ElementType::f32, {1, 1, 6, 6});
  for (int64_t k = 0; k < 36; ++k) x.set_real(k, static_cast<double>(k % 6 + 10 * (k / 6)));
  for (int64_t ratio : {0, 1, 2}) {
    NodeUnderTest node("RoiAlign", 16);
    node.input(x).input(reals({1, 4}, {1, 2, 3, 4})).input(ints({1}, {0})).set("sampling_ratio", ratio);
    node.set("output_width", int64_t{2}).set("coordinate_transformation_mode", "output_half_pixel");
    EXPECT_EQ(to_reals(node.run()), (Reals{31.5, 32.5})) << ratio;
  }
  NodeUnderTest outside("RoiAlign", 16);
  outside.input(x).input(reals({1, 4}, {1, 2, 3, 4})).input(ints({1}, {5}));
  EXPECT_THROW(outside.run(), Error);
}

TEST(MaxRoiPool, BinsOverlapAndEmptyOnesAreZero) {
  const Tensor x = reals({1, 1, 1, 3}, {4, 5, -6});
  NodeUnderTest node("MaxRoiPool", 1);
  node.input(x).input(reals({2, 5}, {0, 0, 0, 2, 0, 0, 7, 0, 9, 0})).set("pooled_shape", Ints{1, 2});
  EXPECT_EQ(to_reals(node.run()), (Reals{5, 5, 0, 0}));
}

}  // namespace
}  // namespace axrun::ir::test
