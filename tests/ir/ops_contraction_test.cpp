#include <gtest/gtest.h>

#include <random>

#include "tests/ir/node_under_test.h"

namespace axrun::ir::test {
namespace {

/// Small integers: sums of their products are exact.
Tensor small_integers(std::mt19937& random, const Shape& shape, ElementType type = ElementType::f32) {
  Tensor x = Tensor::allocate(type, shape);
  for (int64_t k = 0; k < x.size(); ++k) x.set_real(k, static_cast<double>(random() % 9) - 4);
  return x;
}

TEST(MatMul, VectorsDropTheirDimension) {
  const Tensor row = reals({2}, {1, 2});
  const Tensor matrix = reals({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor product = NodeUnderTest("MatMul", 13).input(row).input(matrix).run();
  EXPECT_EQ(product.shape(), Shape{3});
  EXPECT_EQ(to_reals(product), (Reals{9, 12, 15}));
  const Tensor column = NodeUnderTest("MatMul", 13).input(matrix).input(reals({3}, {1, 0, 1})).run();
  EXPECT_EQ(to_reals(column), (Reals{4, 10}));
  const Tensor dot = NodeUnderTest("MatMul", 13).input(row).input(row).run();
  EXPECT_EQ(dot.shape(), Shape{});
  EXPECT_EQ(dot.get_real(0), 5);
}

TEST(MatMul, BatchesBroadcast) {
  std::mt19937 random(7);
  const Tensor a = small_integers(random, {3, 1, 2, 4});
  const Tensor b = small_integers(random, {5, 4, 3});
  const Tensor y = NodeUnderTest("MatMul", 13).input(a).input(b).run();
  ASSERT_EQ(y.shape(), (Shape{3, 5, 2, 3}));
  for (int64_t p = 0; p < 3; ++p) {
    for (int64_t q = 0; q < 5; ++q) {
      for (int64_t i = 0; i < 2; ++i) {
        for (int64_t j = 0; j < 3; ++j) {
          double sum = 0;
          for (int64_t k = 0; k < 4; ++k) {
            sum += a.get_real((p * 2 + i) * 4 + k) * b.get_real((q * 4 + k) * 3 + j);
          }
          EXPECT_EQ(y.get_real(((p * 5 + q) * 2 + i) * 3 + j), sum);
        }
      }
    }
  }
}

TEST(MatMul, ShapesThatDisagreeAreRefused) {
  const auto product = [](const Shape& a, const Shape& b) {
    return NodeUnderTest("MatMul", 13)
        .input(Tensor::allocate(ElementType::f32, a))
        .input(Tensor::allocate(ElementType::f32, b))
        .run();
  };
  EXPECT_THROW(product({2, 3}, {2, 3}), Error);
  EXPECT_THROW(product({2, 2, 3}, {3, 3, 2}), Error);
  EXPECT_THROW(product({}, {1}), Error);
  EXPECT_EQ(product({2, 0}, {0, 3}).shape(), (Shape{2, 3}));
}

TEST(MatMul, IntegersWrapAndNarrowFloatsRoundOnce) {
  const int64_t big = int64_t{1} << 30;
  const Tensor x = ints({1, 4}, {big, big, big, big}, ElementType::i32);
  const Tensor ones = ints({4, 1}, {1, 1, 1, 1}, ElementType::i32);
  EXPECT_EQ(NodeUnderTest("MatMul", 13).input(x).input(ones).run().get_int(0), 0);
  // 2048 + 1 + 1 is representable in f16, 2048 + 1 is not.
  const Tensor a = reals({1, 3}, {2048, 1, 1}, ElementType::f16);
  const Tensor b = reals({3, 1}, {1, 1, 1}, ElementType::f16);
  EXPECT_EQ(NodeUnderTest("MatMul", 13).input(a).input(b).run().get_real(0), 2050);
}

TEST(MatMul, SymbolicBatch) {
  NodeUnderTest node("MatMul", 13);
  node.input(Tensor::allocate(ElementType::f32, {2, 3, 4})).input(Tensor::allocate(ElementType::f32, {4, 5}));
  const Dim n = Dim::symbol("n");
  EXPECT_EQ(node.output_dims(0, {n, 3, 4}), (Dims{n, 3, 5}));
  EXPECT_THROW(node.output_dims(0, {2, 3, n}), NotYetKnown);
}

TEST(Gemm, TransposesScalesAndBroadcasts) {
  const Tensor a = reals({2, 2}, {1, 2, 3, 4});
  const Tensor b = reals({2, 2}, {1, 0, 1, 1});
  NodeUnderTest node("Gemm", 13);
  node.input(a).input(b).input(reals({2}, {10, 20}));
  node.set("transA", int64_t{1}).set("transB", int64_t{1}).set_real("alpha", 2).set_real("beta", 0.5);
  // A'B' = [[1, 3], [2, 4]] [[1, 1], [0, 1]] = [[1, 4], [2, 6]].
  EXPECT_EQ(to_reals(node.run()), (Reals{7, 18, 9, 22}));
}

TEST(Gemm, BroadcastingWasAnAttribute) {
  NodeUnderTest node("Gemm", 6);
  node.input(reals({1, 1}, {2})).input(reals({1, 2}, {1, 3})).input(reals({2}, {10, 20}));
  EXPECT_THROW(node.run(), Error);
  EXPECT_EQ(to_reals(node.set("broadcast", int64_t{1}).run()), (Reals{12, 26}));
  EXPECT_THROW(NodeUnderTest("Gemm", 9).input(reals({1, 1}, {2})).input(reals({1, 1}, {1})).run(), Error);
  EXPECT_EQ(NodeUnderTest("Gemm", 11).input(reals({1, 1}, {2})).input(reals({1, 1}, {3})).run().get_real(0),
            6);
}

TEST(MatMulInteger, ZeroPointsPerRowAndColumn) {
  const Tensor a = ints({2, 2}, {1, 2, 3, 4}, ElementType::u8);
  const Tensor b = ints({2, 2}, {-1, 2, 3, -4}, ElementType::i8);
  NodeUnderTest node("MatMulInteger", 10);
  node.input(a).input(b);
  EXPECT_EQ(node.run().to_ints(), (Ints{5, -6, 9, -10}));
  node.input(ints({2}, {1, 3}, ElementType::u8)).input(ints({2}, {-1, 2}, ElementType::i8));
  // [[0, 1], [0, 1]] [[0, 0], [4, -6]].
  EXPECT_EQ(node.run().to_ints(), (Ints{4, -6, 4, -6}));
}

TEST(QLinearMatMul, RoundsHalfToEvenAndSaturates) {
  const auto scale = [](double value) { return Tensor::scalar(ElementType::f32, value); };
  const auto zero = [](int64_t value) { return ints({}, {value}, ElementType::u8); };
  const auto product = [&](int64_t left, int64_t right, int64_t y_zero) {
    return NodeUnderTest("QLinearMatMul", 10)
        .input(ints({1, 1}, {left}, ElementType::u8))
        .input(scale(0.5))
        .input(zero(0))
        .input(ints({1, 1}, {right}, ElementType::u8))
        .input(scale(1))
        .input(zero(10))
        .input(scale(1))
        .input(zero(y_zero))
        .run()
        .get_int(0);
  };
  EXPECT_EQ(product(5, 11, 0), 2);    // 2.5
  EXPECT_EQ(product(7, 11, 0), 4);    // 3.5
  EXPECT_EQ(product(7, 9, 100), 96);  // -3.5
  EXPECT_EQ(product(200, 20, 0), 255);
  EXPECT_EQ(product(200, 0, 3), 0);
}

}  // namespace
}  // namespace axrun::ir::test
