#include "ir/operation_count.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ir/elements_read.h"
#include "tests/ir/node_under_test.h"

namespace axrun::ir::test {
namespace {

using Doubles = std::vector<double>;

Tensor zeros(const Shape& shape, ElementType type = ElementType::f32) {
  return Tensor::allocate(type, shape);
}

Program program_of(const NodeUnderTest& node) { return define_node(node.node(), node.known()); }

OperationCount count(const NodeUnderTest& node, const std::vector<bool>& known = {}) {
  return count_operations(program_of(node), known);
}

/// Pairs of an output position and a tap whose input position exists.
double inside(int64_t input, int64_t kernel, int64_t stride, int64_t dilation, int64_t pad, int64_t output) {
  double pairs = 0;
  for (int64_t o = 0; o < output; ++o) {
    for (int64_t k = 0; k < kernel; ++k) {
      const int64_t i = o * stride + k * dilation - pad;
      if (0 <= i && i < input) ++pairs;
    }
  }
  return pairs;
}

TEST(OperationCount, MatrixProductIsTwoPerTerm) {
  const OperationCount found = count(NodeUnderTest("MatMul", 13).input(zeros({3, 5})).input(zeros({5, 7})));
  EXPECT_EQ(found.contraction, 2 * 3 * 5 * 7);
  EXPECT_EQ(found.floating(), found.contraction);
  EXPECT_EQ(found.integer(), 0);
  const OperationCount batched =
      count(NodeUnderTest("MatMul", 13).input(zeros({4, 1, 3, 5})).input(zeros({6, 5, 7})));
  EXPECT_EQ(batched.contraction, 2 * 4 * 6 * 3 * 5 * 7);
}

TEST(OperationCount, GemmScalesAndAddsEachElementOnce) {
  const NodeUnderTest gemm = NodeUnderTest("Gemm", 13)
                                 .input(zeros({3, 5}))
                                 .input(zeros({7, 5}))
                                 .input(zeros({7}))
                                 .set("transB", int64_t{1})
                                 .set_real("alpha", 0.5);
  EXPECT_EQ(count(gemm).contraction, 2 * 3 * 5 * 7);
  EXPECT_EQ(count(gemm).arithmetic, 2 * 3 * 7);
}

TEST(OperationCount, ConvolutionByGroups) {
  const NodeUnderTest conv = NodeUnderTest("Conv", 11)
                                 .input(zeros({2, 6, 9, 8}))
                                 .input(zeros({4, 3, 3, 2}))
                                 .input(zeros({4}))
                                 .set("group", int64_t{2});
  EXPECT_EQ(count(conv).contraction, 2.0 * 2 * 4 * 7 * 7 * 3 * 3 * 2);
  EXPECT_EQ(count(conv).arithmetic, 2 * 4 * 7 * 7) << "the bias";
}

TEST(OperationCount, PaddingOfAConvolutionIsSkipped) {
  const NodeUnderTest conv = NodeUnderTest("Conv", 11)
                                 .input(zeros({1, 2, 9, 5}))
                                 .input(zeros({3, 2, 3, 3}))
                                 .set("pads", Ints{2, 1, 2, 1})
                                 .set("strides", Ints{2, 1})
                                 .set("dilations", Ints{2, 1});
  EXPECT_EQ(count(conv).contraction, 2.0 * 3 * 2 * inside(9, 3, 2, 2, 2, 5) * inside(5, 3, 1, 1, 1, 5));
}

TEST(OperationCount, TransposedConvolutionHasATermForEachInputAndTap) {
  for (const Ints& strides : {Ints{1, 1}, {2, 2}, {3, 2}}) {
    const NodeUnderTest conv = NodeUnderTest("ConvTranspose", 11)
                                   .input(zeros({1, 2, 5, 4}))
                                   .input(zeros({2, 3, 3, 3}))
                                   .set("strides", strides);
    EXPECT_EQ(count(conv).contraction, 2.0 * 2 * 3 * (5 * 4) * (3 * 3)) << strides[0] << strides[1];
  }
}

TEST(OperationCount, Lstm) {
  const double time = 7, batch = 2, inputs = 5, hidden = 3;
  const NodeUnderTest lstm = NodeUnderTest("LSTM", 14)
                                 .input(zeros({7, 2, 5}))
                                 .input(zeros({1, 4 * 3, 5}))
                                 .input(zeros({1, 4 * 3, 3}))
                                 .input(zeros({1, 8 * 3}))
                                 .set("hidden_size", int64_t{3});
  const OperationCount found = count(lstm);
  EXPECT_EQ(found.contraction, 2 * time * batch * 4 * hidden * (inputs + hidden));
  EXPECT_EQ(found.transcendental, time * batch * hidden * 5)
      << "three gates, the cell's input and its output";
  EXPECT_GE(found.arithmetic, time * batch * hidden * 4) << "f * c + i * g, o * h";
  EXPECT_TRUE(found.uncounted.empty());
}

TEST(OperationCount, Softmax) {
  const OperationCount found = count(NodeUnderTest("Softmax", 13).input(zeros({4, 10})));
  EXPECT_EQ(found.transcendental, 40);
  EXPECT_EQ(found.arithmetic, 4 * 40) << "maximum, difference, sum, quotient";
  EXPECT_EQ(found.contraction, 0);
}

TEST(OperationCount, ElementwiseCountsTheResult) {
  EXPECT_EQ(count(NodeUnderTest("Add", 14).input(zeros({4, 1})).input(zeros({5}))).arithmetic, 20);
  EXPECT_EQ(count(NodeUnderTest("Relu", 14).input(zeros({4, 5}))).arithmetic, 20);
  EXPECT_EQ(count(NodeUnderTest("Tanh", 13).input(zeros({4, 5}))).transcendental, 20);
  EXPECT_EQ(count(NodeUnderTest("Transpose", 13).input(zeros({4, 5}))).floating(), 0);
  const OperationCount integers =
      count(NodeUnderTest("Mul", 14).input(zeros({4}, ElementType::i32)).input(zeros({4}, ElementType::i32)));
  EXPECT_EQ(integers.integer_arithmetic, 4);
  EXPECT_EQ(integers.floating(), 0);
}

TEST(OperationCount, WhatKnownOperandsDecideIsFree) {
  const NodeUnderTest norm = NodeUnderTest("BatchNormalization", 15)
                                 .input(zeros({2, 3, 4, 4}))
                                 .input(zeros({3}))
                                 .input(zeros({3}))
                                 .input(zeros({3}))
                                 .input(zeros({3}));
  const double known = count(norm, {false, true, true, true, true}).floating();
  const double unknown = count(norm).floating();
  EXPECT_EQ(std::fmod(known, 2 * 3 * 4 * 4), 0) << "a whole number per element";
  EXPECT_GT(unknown, known);
  EXPECT_LT(unknown - known, 4 * 3) << "a few per channel, not per element";
  EXPECT_EQ(count(norm, {true, true, true, true, true}).floating(), 0);
}

TEST(OperationCount, PoolingComparesWhatLiesInside) {
  const NodeUnderTest pool = NodeUnderTest("MaxPool", 12)
                                 .input(zeros({1, 2, 6, 6}))
                                 .set("kernel_shape", Ints{3, 3})
                                 .set("pads", Ints{1, 1, 1, 1})
                                 .set("strides", Ints{2, 2});
  const double pairs = inside(6, 3, 2, 1, 1, 3);
  EXPECT_EQ(count(pool).arithmetic, 2 * pairs * pairs);
}

TEST(OperationCount, SumsThatAreNoProductsOfTwoValues) {
  const Tensor axes = ints({1}, {1});
  const OperationCount mean = count(NodeUnderTest("ReduceMean", 18).input(zeros({4, 10})).input(axes));
  EXPECT_EQ(mean.contraction, 0);
  EXPECT_EQ(mean.arithmetic, 4 * 10 + 4);
  const OperationCount squares =
      count(NodeUnderTest("ReduceSumSquare", 18).input(zeros({4, 10})).input(axes));
  EXPECT_EQ(squares.contraction, 0);
  EXPECT_EQ(squares.arithmetic, 2 * 4 * 10);
}

TEST(OperationCount, IntegerContractions) {
  const OperationCount found = count(NodeUnderTest("MatMulInteger", 10)
                                         .input(zeros({3, 5}, ElementType::u8))
                                         .input(zeros({5, 7}, ElementType::i8)));
  EXPECT_EQ(found.integer_contraction, 2 * 3 * 5 * 7);
  EXPECT_EQ(found.floating(), 0);
}

TEST(OperationCount, ScansCountEveryStep) {
  const OperationCount found = count(NodeUnderTest("CumSum", 14).input(zeros({4, 6})).input(ints({}, {1})));
  EXPECT_EQ(found.arithmetic, 4 * 6);
}

TEST(OperationCount, OpaqueFunctionsAreListed) {
  const OperationCount found = count(NodeUnderTest("Unique", 11).input(zeros({8})));
  EXPECT_EQ(found.floating(), 0);
  EXPECT_FALSE(found.uncounted.empty());
}

TEST(ElementsRead, WeightsOnceAndRowsAsPicked) {
  const NodeUnderTest conv = NodeUnderTest("Conv", 11).input(zeros({1, 2, 9, 9})).input(zeros({4, 2, 3, 3}));
  EXPECT_EQ(elements_read(program_of(conv)), (Doubles{1 * 2 * 9 * 9, 4 * 2 * 3 * 3}));
  const Tensor rows = ints({2, 3}, {0, 1, 2, 3, 4, 5});
  EXPECT_EQ(elements_read(program_of(NodeUnderTest("Gather", 13).input(zeros({1000, 8})).input(rows))),
            (Doubles{2 * 3 * 8, 2 * 3}));
  EXPECT_EQ(elements_read(program_of(NodeUnderTest("Gather", 13).input(zeros({3, 8})).input(rows))),
            (Doubles{3 * 8, 2 * 3}));
}

TEST(ElementsRead, StridesSkipAndShapesAreNotRead) {
  const NodeUnderTest conv = NodeUnderTest("Conv", 11)
                                 .input(zeros({1, 2, 8, 8}))
                                 .input(zeros({4, 2, 1, 1}))
                                 .set("strides", Ints{2, 2});
  EXPECT_EQ(elements_read(program_of(conv)), (Doubles{1 * 2 * 4 * 4, 4 * 2}));
  const Program reshape =
      program_of(NodeUnderTest("Reshape", 14).input(zeros({4, 6})).input(ints({1}, {24})));
  EXPECT_EQ(elements_read(reshape).at(0), 24);
  EXPECT_EQ(elements_read(reshape).size() > 1 ? elements_read(reshape)[1] : 0, 0);
}

TEST(ElementsRead, RecurrentWeightsCountOnce) {
  const NodeUnderTest lstm = NodeUnderTest("LSTM", 14)
                                 .input(zeros({7, 2, 5}))
                                 .input(zeros({1, 4 * 3, 5}))
                                 .input(zeros({1, 4 * 3, 3}))
                                 .set("hidden_size", int64_t{3});
  EXPECT_EQ(elements_read(program_of(lstm)), (Doubles{7 * 2 * 5, 4 * 3 * 5, 4 * 3 * 3}));
}

}  // namespace
}  // namespace axrun::ir::test
