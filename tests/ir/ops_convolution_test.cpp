#include <gtest/gtest.h>

#include <random>

#include "tests/ir/node_under_test.h"

namespace axrun::ir::test {
namespace {

/// Small integers: every sum is exact, so results must be equal and not only close.
Tensor small_elements(std::mt19937& random, const Shape& shape, ElementType type = ElementType::f32) {
  Tensor x = Tensor::allocate(type, shape);
  for (int64_t k = 0; k < x.size(); ++k) {
    x.set_int(k, static_cast<int64_t>(random() % 9) - (is_unsigned_integer(type) ? 0 : 4));
    if (is_float(type)) x.set_real(k, static_cast<double>(random() % 9) - 4);
  }
  return x;
}

/// A random two-dimensional convolution: groups, strides, dilations and uneven pads.
struct Convolution {
  int64_t groups, in, out, h, w, kh, kw;
  Ints strides, dilations, pads;
  Shape input, weight;

  explicit Convolution(std::mt19937& random) {
    const auto pick = [&](int64_t low, int64_t high) {
      return low + static_cast<int64_t>(random() % static_cast<uint32_t>(high - low + 1));
    };
    groups = pick(1, 3);
    in = pick(1, 3);
    out = pick(1, 3);
    h = pick(4, 8);
    w = pick(4, 8);
    kh = pick(1, 3);
    kw = pick(1, 3);
    strides = {pick(1, 3), pick(1, 3)};
    dilations = {pick(1, 2), pick(1, 2)};
    pads = {pick(0, 2), pick(0, 2), pick(0, 2), pick(0, 2)};
    input = {2, groups * in, h, w};
    weight = {groups * out, in, kh, kw};
  }
  NodeUnderTest node(const std::string& op) const {
    NodeUnderTest node(op, 11);
    node.set("group", groups).set("strides", strides).set("dilations", dilations).set("pads", pads);
    return node;
  }
};

/// The definition in loops. Values through `at`, which subtracts zero points.
template <typename Value>
std::vector<double> naive_convolution(const Convolution& e, const Shape& result, const Value& x,
                                      const Value& w) {
  std::vector<double> y;
  for (int64_t n = 0; n < result[0]; ++n) {
    for (int64_t m = 0; m < result[1]; ++m) {
      for (int64_t i = 0; i < result[2]; ++i) {
        for (int64_t j = 0; j < result[3]; ++j) {
          double sum = 0;
          for (int64_t c = 0; c < e.in; ++c) {
            for (int64_t p = 0; p < e.kh; ++p) {
              for (int64_t q = 0; q < e.kw; ++q) {
                const int64_t row = i * e.strides[0] + p * e.dilations[0] - e.pads[0];
                const int64_t column = j * e.strides[1] + q * e.dilations[1] - e.pads[1];
                if (row < 0 || row >= e.h || column < 0 || column >= e.w) continue;
                const int64_t channel = m / e.out * e.in + c;
                sum += x(((n * e.input[1] + channel) * e.h + row) * e.w + column) *
                       w(((m * e.in + c) * e.kh + p) * e.kw + q);
              }
            }
          }
          y.push_back(sum);
        }
      }
    }
  }
  return y;
}

TEST(Conv, AgreesWithLoops) {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const Convolution e(random);
    const Tensor x = small_elements(random, e.input);
    const Tensor w = small_elements(random, e.weight);
    const Tensor y = e.node("Conv").input(x).input(w).run();
    const std::function<double(int64_t)> load_x = [&](int64_t k) { return x.get_real(k); };
    const std::function<double(int64_t)> load_w = [&](int64_t k) { return w.get_real(k); };
    EXPECT_EQ(to_reals(y), naive_convolution(e, y.shape(), load_x, load_w));
  }
}

TEST(Conv, BiasIsAddedAndFirstRoundingIsTheLast) {
  const Tensor x = reals({1, 1, 2}, {1, 2});
  const Tensor y =
      NodeUnderTest("Conv", 11).input(x).input(reals({2, 1, 1}, {1, 10})).input(reals({2}, {100, 200})).run();
  EXPECT_EQ(to_reals(y), (std::vector<double>{101, 102, 210, 220}));
  // 2048 + 1 - 1: the sum is not representable in f16, the result is.
  const Tensor narrow = NodeUnderTest("Conv", 11)
                            .input(reals({1, 2, 1}, {2048, 1}, ElementType::f16))
                            .input(reals({1, 2, 1}, {1, 1}, ElementType::f16))
                            .input(reals({1}, {-2047}, ElementType::f16))
                            .run();
  EXPECT_EQ(narrow.get_real(0), 2);
}

TEST(Conv, AutoPadAndSymbolicSizes) {
  const Tensor x = reals({1, 1, 4}, {1, 2, 3, 4});
  const Tensor w = reals({1, 1, 2}, {1, 10});
  const auto padded = [&](const std::string& mode) {
    return to_reals(NodeUnderTest("Conv", 11).input(x).input(w).set("auto_pad", mode).run());
  };
  EXPECT_EQ(padded("SAME_UPPER"), (std::vector<double>{21, 32, 43, 4}));
  EXPECT_EQ(padded("SAME_LOWER"), (std::vector<double>{10, 21, 32, 43}));
  EXPECT_EQ(padded("VALID"), (std::vector<double>{21, 32, 43}));
  EXPECT_THROW(padded("SAME"), Error);
  const Dim n = Dim::symbol("n");
  NodeUnderTest node("Conv", 11);
  node.input(x).input(w).set("strides", Ints{2}).set("pads", Ints{1, 1});
  EXPECT_EQ(node.output_dims(0, {1, 1, n}), (Dims{1, 1, floor_div(n, 2) + 1}));
}

TEST(Conv, WhatDisagreesIsRefused) {
  const auto conv = [](const Shape& x, const Shape& w, const Ints& strides, int64_t groups) {
    return NodeUnderTest("Conv", 11)
        .input(Tensor::allocate(ElementType::f32, x))
        .input(Tensor::allocate(ElementType::f32, w))
        .set("strides", strides)
        .set("group", groups)
        .run();
  };
  EXPECT_THROW(conv({1, 3, 4}, {2, 2, 1}, {1}, 1), Error);
  EXPECT_THROW(conv({1, 2, 4}, {3, 1, 1}, {1}, 2), Error);
  EXPECT_THROW(conv({1, 2, 4}, {2, 2, 9}, {1}, 1), Error);
  EXPECT_THROW(conv({1, 2, 4}, {2, 2, 1}, {0}, 1), Error);
  EXPECT_THROW(conv({1, 2, 4}, {2, 2, 1}, {1, 1}, 1), Error);
  EXPECT_THROW(conv({1, 2, 4}, {2, 2, 1}, {1}, 0), Error);
  EXPECT_THROW(conv({1, 2, 4}, {2, 2, 1, 1}, {1}, 1), Error);
  EXPECT_EQ(conv({0, 2, 4}, {2, 2, 1}, {1}, 1).shape(), (Shape{0, 2, 4}));
}

/// <conv(x), y> = <x, transposed conv(y)>: the transpose is the adjoint of the convolution.
TEST(ConvTranspose, IsTheAdjointOfConv) {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const Convolution e(random);
    const Tensor x = small_elements(random, e.input);
    const Tensor w = small_elements(random, e.weight);
    const Tensor image = e.node("Conv").input(x).input(w).run();
    const Tensor y = small_elements(random, image.shape());
    // The output padding makes the size that of x again, where the stride had rounded it down.
    Ints extra;
    for (size_t d = 0; d < 2; ++d) {
      const int64_t natural = e.strides[d] * (image.shape()[2 + d] - 1) +
                              e.dilations[d] * (e.weight[2 + d] - 1) + 1 - e.pads[d] - e.pads[2 + d];
      extra.push_back(e.input[2 + d] - natural);
    }
    NodeUnderTest node = e.node("ConvTranspose");
    const Tensor back = node.input(y).input(w).set("output_padding", extra).run();
    ASSERT_EQ(back.shape(), x.shape());
    double left = 0;
    double right = 0;
    for (int64_t k = 0; k < y.size(); ++k) left += image.get_real(k) * y.get_real(k);
    for (int64_t k = 0; k < x.size(); ++k) right += back.get_real(k) * x.get_real(k);
    EXPECT_EQ(left, right);
  }
}

TEST(ConvTranspose, OutputShapeDecidesThePadding) {
  const auto transposed = [](int64_t size, const std::string& mode) {
    NodeUnderTest node("ConvTranspose", 11);
    node.input(reals({1, 1, 3}, {1, 2, 3})).input(reals({1, 1, 3}, {1, 10, 100})).set("strides", Ints{2});
    if (size > 0) node.set("output_shape", Ints{size});
    return to_reals(node.set("auto_pad", mode).run());
  };
  EXPECT_EQ(transposed(0, "NOTSET"), (Reals{1, 10, 102, 20, 203, 30, 300}));
  EXPECT_EQ(transposed(6, "NOTSET"), (Reals{10, 102, 20, 203, 30, 300}));
  EXPECT_EQ(transposed(6, "SAME_UPPER"), (Reals{1, 10, 102, 20, 203, 30}));
  EXPECT_EQ(transposed(0, "SAME_LOWER"), (Reals{10, 102, 20, 203, 30, 300}));
  EXPECT_EQ(transposed(8, "VALID"), (Reals{1, 10, 102, 20, 203, 30, 300, 0}));
}

TEST(QLinearConv, AgreesWithLoopsAndPadsWithTheZeroPoint) {
  for (uint32_t seed = 0; seed < 10; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const Convolution e(random);
    const Tensor x = small_elements(random, e.input, ElementType::u8);
    const Tensor w = small_elements(random, e.weight, ElementType::i8);
    const auto one = Tensor::scalar(ElementType::f32, 1);
    const Tensor y = e.node("QLinearConv")
                         .input(x)
                         .input(one)
                         .input(ints({}, {3}, ElementType::u8))
                         .input(w)
                         .input(one)
                         .input(ints({}, {-1}, ElementType::i8))
                         .input(one)
                         .input(ints({}, {7}, ElementType::i8))
                         .run();
    const std::function<double(int64_t)> load_x = [&](int64_t k) { return x.get_real(k) - 3; };
    const std::function<double(int64_t)> load_w = [&](int64_t k) { return w.get_real(k) + 1; };
    std::vector<double> expected = naive_convolution(e, y.shape(), load_x, load_w);
    for (double& value : expected) value = std::clamp(value + 7, -128.0, 127.0);
    EXPECT_EQ(to_reals(y), expected);
  }
}

TEST(DeformConv, WithoutOffsetsIsConv) {
  std::mt19937 random(3);
  const Tensor x = small_elements(random, {1, 2, 5, 5});
  const Tensor w = small_elements(random, {2, 1, 3, 3});
  const Tensor plain = NodeUnderTest("Conv", 11).input(x).input(w).set("group", int64_t{2}).run();
  Tensor offset = Tensor::allocate(ElementType::f32, {1, 18, 3, 3});
  NodeUnderTest node("DeformConv", 19);
  node.input(x).input(w).input(offset).set("group", int64_t{2});
  EXPECT_EQ(to_reals(node.run()), to_reals(plain));
  // Half a step to the right is the mean of two neighbours; far outside everything is 0.
  const Tensor one = reals({1, 1, 1, 1}, {1});
  const auto shifted = [&](double rows, double columns) {
    return NodeUnderTest("DeformConv", 19)
        .input(reals({1, 1, 1, 2}, {4, 8}))
        .input(one)
        .input(reals({1, 2, 1, 2}, {rows, rows, columns, columns}))
        .run();
  };
  EXPECT_EQ(to_reals(shifted(0, 0.5)), (std::vector<double>{6, 4}));
  EXPECT_EQ(to_reals(shifted(1e30, 0)), (std::vector<double>{0, 0}));
}

}  // namespace
}  // namespace axrun::ir::test
