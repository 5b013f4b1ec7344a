#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/ir/node_under_test.h"

namespace axrun::ir::test {
namespace {

TEST(Elementwise, BroadcastsAsNumpy) {
  const Tensor sum =
      NodeUnderTest("Add", 14).input(reals({2, 1}, {1, 2})).input(reals({3}, {10, 20, 30})).run();
  EXPECT_EQ(sum.shape(), (Shape{2, 3}));
  EXPECT_EQ(to_reals(sum), (std::vector<double>{11, 21, 31, 12, 22, 32}));
}

TEST(Elementwise, LegacyBroadcastAlignsAtTheAxis) {
  NodeUnderTest node("Mul", 6);
  node.input(reals({2, 3}, {1, 1, 1, 1, 1, 1})).input(reals({2}, {5, 7}));
  EXPECT_THROW(node.run(), Error);  // Without the attribute shapes must agree.
  node.set("broadcast", int64_t{1});
  EXPECT_THROW(node.run(), Error);  // By default the end of the shape is matched.
  EXPECT_EQ(to_reals(node.set("axis", int64_t{0}).run()), (std::vector<double>{5, 5, 5, 7, 7, 7}));
}

TEST(Elementwise, IntegerDivisionTruncatesAndModFloors) {
  const Tensor a = ints({4}, {7, -7, 7, -7}, ElementType::i32);
  const Tensor b = ints({4}, {2, 2, -2, -2}, ElementType::i32);
  EXPECT_EQ(NodeUnderTest("Div", 14).input(a).input(b).run().to_ints(), (std::vector<int64_t>{3, -3, -3, 3}));
  NodeUnderTest mod("Mod", 13);
  mod.input(a).input(b);
  EXPECT_EQ(mod.run().to_ints(), (std::vector<int64_t>{1, 1, -1, -1}));
  EXPECT_EQ(mod.set("fmod", int64_t{1}).run().to_ints(), (std::vector<int64_t>{1, -1, 1, -1}));
  EXPECT_THROW(NodeUnderTest("Div", 14).input(a).input(ints({1}, {0}, ElementType::i32)).run(), Error);
}

TEST(Elementwise, PowKeepsTheTypeOfTheBase) {
  const Tensor base = ints({3}, {3, -2, 5}, ElementType::i32);
  const Tensor halves = NodeUnderTest("Pow", 15).input(base).input(reals({1}, {2.5})).run();
  EXPECT_EQ(halves.type(), ElementType::i32);
  EXPECT_EQ(halves.get_int(0), 15);  // 3^2.5 = 15.58
  const Tensor large =
      NodeUnderTest("Pow", 15).input(ints({1}, {3})).input(ints({1}, {39}, ElementType::u8)).run();
  EXPECT_EQ(large.get_int(0), 4052555153018976267);  // Beyond float64's integers.
  EXPECT_THROW(NodeUnderTest("Pow", 7).input(base).input(reals({1}, {2})).run(), Error);
}

TEST(Elementwise, ClipLetsNaNThroughAndPrefersTheUpperBound) {
  const auto clip = [](double low, double high) {
    return NodeUnderTest("Clip", 13)
        .input(reals({3}, {-5, nan, 5}))
        .input(reals({}, {low}))
        .input(reals({}, {high}))
        .run();
  };
  EXPECT_EQ(clip(-1, 1).get_real(0), -1);
  EXPECT_TRUE(std::isnan(clip(-1, 1).get_real(1)));
  EXPECT_EQ(clip(2, 1).get_real(0), 1);
  const Tensor upper =
      NodeUnderTest("Clip", 12).input(ints({2}, {-5, 5})).absent_input().input(ints({}, {3})).run();
  EXPECT_EQ(upper.to_ints(), (std::vector<int64_t>{-5, 3}));
  const Tensor old = NodeUnderTest("Clip", 6).input(reals({2}, {-5, 5})).set_real("min", -2).run();
  EXPECT_EQ(to_reals(old), (std::vector<double>{-2, 5}));
}

TEST(Elementwise, ShiftsPastTheWidthLeaveTheSign) {
  const Tensor x = ints({4}, {-8, -8, -8, 8}, ElementType::i8);
  const Tensor amount = ints({4}, {1, 8, -1, 100}, ElementType::i8);
  EXPECT_EQ(NodeUnderTest("BitShift", 28).input(x).input(amount).set("direction", "RIGHT").run().to_ints(),
            (std::vector<int64_t>{-4, -1, -1, 0}));
  EXPECT_EQ(NodeUnderTest("BitShift", 28).input(x).input(amount).set("direction", "LEFT").run().to_ints(),
            (std::vector<int64_t>{-16, 0, 0, 0}));
}

TEST(Elementwise, ActivationsStayFiniteWhereTheirLimitIs) {
  const Tensor x = reals({4}, {-1000, 1000, -inf, inf}, ElementType::f64);
  EXPECT_EQ(to_reals(NodeUnderTest("Softplus", 22).input(x).run()), (std::vector<double>{0, 1000, 0, inf}));
  EXPECT_EQ(to_reals(NodeUnderTest("Sigmoid", 13).input(x).run()), (std::vector<double>{0, 1, 0, 1}));
  EXPECT_EQ(to_reals(NodeUnderTest("Elu", 22).input(x).run()), (std::vector<double>{-1, 1000, -1, inf}));
}

TEST(Elementwise, AttributesAreNotRoundedToNarrowTypes) {
  // 1.0004 is 1 in float16, but -2046 * 1.0004 = -2046.8.
  const Tensor x = reals({1}, {-2046}, ElementType::f16);
  EXPECT_EQ(NodeUnderTest("LeakyRelu", 16).input(x).set_real("alpha", 1.0004F).run().get_real(0), -2047);
}

TEST(Elementwise, CastFollowsTheTableOfConversions) {
  const auto cast = [](const Tensor& x, int64_t to) {
    return NodeUnderTest("Cast", 19).input(x).set("to", to);
  };
  EXPECT_EQ(cast(ints({1}, {200}, ElementType::i16), 3).run().get_int(0), -56);
  EXPECT_EQ(cast(reals({3}, {-0.0, 0.5, nan}), 9).run().to_ints(), (std::vector<int64_t>{0, 1, 1}));
  EXPECT_EQ(cast(reals({1}, {1e9}), 17).run().get_real(0), 448);
  EXPECT_TRUE(std::isnan(cast(reals({1}, {1e9}), 17).set("saturate", int64_t{0}).run().get_real(0)));
  EXPECT_THROW(cast(reals({1}, {1}), 0).run(), Error);
  EXPECT_THROW(cast(reals({1}, {1}), 99).run(), Error);
  const Tensor named = NodeUnderTest("Cast", 1).input(reals({1}, {2.7})).set("to", "INT64").run();
  EXPECT_EQ(named.to_ints(), std::vector<int64_t>{2});
}

TEST(Elementwise, CastToPowersOfTwoRoundsAsAsked) {
  const double most = 0x1p127;
  const std::vector<double> x = {0.124,   1.1, 2, 3, 1.9 * most, std::numeric_limits<double>::infinity(),
                                 0x1p-130};
  const auto cast = [&](const std::string& mode, int64_t saturate) {
    return to_reals(NodeUnderTest("Cast", 28)
                        .input(reals({7}, x, ElementType::f64))
                        .set("to", int64_t{24})
                        .set("round_mode", mode)
                        .set("saturate", saturate)
                        .run());
  };
  EXPECT_EQ(cast("up", 1), (std::vector<double>{0.125, 2, 2, 4, most, most, 0x1p-127}));
  EXPECT_EQ(cast("down", 1), (std::vector<double>{0.0625, 1, 2, 2, most, most, 0x1p-127}));
  EXPECT_EQ(cast("nearest", 1), (std::vector<double>{0.125, 1, 2, 4, most, most, 0x1p-127}));
  const auto open = cast("up", 0);
  EXPECT_EQ(std::vector<double>(open.begin(), open.begin() + 4), (std::vector<double>{0.125, 2, 2, 4}));
  for (size_t k = 4; k < 7; ++k) EXPECT_TRUE(std::isnan(open[k])) << k;
}

TEST(Elementwise, BitCastKeepsTheBits) {
  const auto cast = [](const Tensor& x, int64_t to) {
    return NodeUnderTest("BitCast", 26).input(x).set("to", to);
  };
  EXPECT_EQ(cast(reals({2}, {1, -0.0}), 12).run().to_ints(), (std::vector<int64_t>{0x3f800000, 0x80000000}));
  EXPECT_EQ(cast(ints({1}, {0x3c00}, ElementType::u16), 10).run().get_real(0), 1);
  EXPECT_EQ(cast(ints({1}, {200}, ElementType::u8), 3).run().get_int(0), -56);
  EXPECT_THROW(cast(reals({1}, {1}), 7).run(), Error);
}

TEST(Elementwise, DropoutIsTheIdentityWithAFullMask) {
  const Tensor x = reals({2}, {1, 2});
  const auto results = NodeUnderTest("Dropout", 13, 2).input(x).run_all();
  EXPECT_EQ(to_reals(results[0]), to_reals(x));
  EXPECT_EQ(results[1].type(), ElementType::boolean);
  EXPECT_EQ(results[1].to_ints(), (std::vector<int64_t>{1, 1}));
  NodeUnderTest training("Dropout", 13);
  training.input(x).input(reals({}, {1})).input(ints({}, {1}, ElementType::boolean));
  EXPECT_THROW(training.run(), Error);
}

TEST(Elementwise, TypesThatDoNotFitAreTheModelsFault) {
  const Tensor text = Tensor::from_strings({1}, {"a"});
  for (const char* op : {"Relu", "Exp", "Not", "Neg", "Abs", "Sigmoid", "IsNaN", "BitwiseNot"}) {
    EXPECT_THROW(NodeUnderTest(op, 20).input(text).run(), Error) << op;
  }
  for (const char* op : {"Add", "And", "Less", "Max", "Mod", "BitwiseAnd"}) {
    EXPECT_THROW(NodeUnderTest(op, 20).input(text).input(text).run(), Error) << op;
    EXPECT_THROW(NodeUnderTest(op, 20).input(reals({1}, {1})).input(ints({1}, {1})).run(), Error) << op;
  }
  EXPECT_THROW(NodeUnderTest("Add", 20).run(), Error);
}

TEST(Elementwise, StringsAreCopied) {
  const Tensor x = Tensor::from_strings({2}, {"a", "b"});
  const Tensor y = Tensor::from_strings({1}, {"c"});
  const Tensor chosen =
      NodeUnderTest("Where", 16).input(ints({2}, {0, 1}, ElementType::boolean)).input(x).input(y).run();
  EXPECT_EQ(chosen.strings()[0], "c");
  EXPECT_EQ(chosen.strings()[1], "b");
  EXPECT_EQ(NodeUnderTest("Equal", 19).input(x).input(x).run().to_ints(), (std::vector<int64_t>{1, 1}));
}

}  // namespace
}  // namespace axrun::ir::test
