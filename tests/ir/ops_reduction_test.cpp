#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "tests/ir/node_under_test.h"

namespace axrun::ir::test {
namespace {

TEST(Reduce, AxesAreAnAttributeThenAnInput) {
  const Tensor x = reals({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor old = NodeUnderTest("ReduceSum", 11).input(x).set("axes", Ints{-1}).run();
  EXPECT_EQ(old.shape(), (Shape{2, 1}));
  EXPECT_EQ(to_reals(old), (Reals{6, 15}));
  const Tensor now =
      NodeUnderTest("ReduceMean", 18).input(x).input(ints({1}, {0})).set("keepdims", int64_t{0}).run();
  EXPECT_EQ(now.shape(), Shape{3});
  EXPECT_EQ(to_reals(now), (Reals{2.5, 3.5, 4.5}));
  EXPECT_THROW(NodeUnderTest("ReduceMean", 18).input(x).input(ints({2}, {0, -2})).run(), Error);
  EXPECT_THROW(NodeUnderTest("ReduceMean", 18).input(x).input(ints({1}, {2})).run(), Error);
}

TEST(Reduce, NoAxesReduceAllOrNone) {
  const Tensor x = reals({2, 2}, {1, 2, 3, 4});
  NodeUnderTest node("ReduceSumSquare", 18);
  node.input(x).input(ints({0}, {}));
  EXPECT_EQ(to_reals(node.run()), Reals{30});
  EXPECT_EQ(to_reals(node.set("noop_with_empty_axes", int64_t{1}).run()), (Reals{1, 4, 9, 16}));
}

TEST(Reduce, EmptySetsGiveTheNeutralElement) {
  const auto reduce = [](const char* op) {
    return NodeUnderTest(op, 18).input(reals({2, 0}, {})).input(ints({1}, {1})).run().get_real(1);
  };
  EXPECT_EQ(reduce("ReduceSum"), 0);
  EXPECT_EQ(reduce("ReduceProd"), 1);
  EXPECT_EQ(reduce("ReduceMax"), -inf);
  EXPECT_EQ(reduce("ReduceMin"), inf);
  EXPECT_EQ(reduce("ReduceL2"), 0);
  EXPECT_EQ(reduce("ReduceLogSum"), -inf);
  EXPECT_EQ(reduce("ReduceLogSumExp"), -inf);
  EXPECT_TRUE(std::isnan(reduce("ReduceMean")));
  const Tensor bytes = ints({0}, {}, ElementType::i8);
  EXPECT_EQ(NodeUnderTest("ReduceMax", 20).input(bytes).run().get_int(0), -128);
}

TEST(Reduce, LogSumExpNeitherOverflowsNorInventsNaN) {
  const auto log_sum_exp = [](const Reals& values) {
    const Tensor x = reals({static_cast<int64_t>(values.size())}, values, ElementType::f64);
    return NodeUnderTest("ReduceLogSumExp", 18).input(x).run().get_real(0);
  };
  EXPECT_DOUBLE_EQ(log_sum_exp({1000, 1000}), 1000 + std::log(2));
  EXPECT_EQ(log_sum_exp({-inf, -inf}), -inf);
  EXPECT_EQ(log_sum_exp({0, inf}), inf);
  EXPECT_EQ(log_sum_exp({-inf, 3}), 3);
  EXPECT_TRUE(std::isnan(log_sum_exp({nan, inf})));
}

TEST(Reduce, NarrowSumsDoNotOverflowOnTheWayToAMean) {
  const Tensor x = reals({4}, {60000, 60000, 60000, 60000}, ElementType::f16);
  EXPECT_EQ(NodeUnderTest("ReduceMean", 18).input(x).run().get_real(0), 60000);
}

TEST(Reduce, IntegersAndBooleans) {
  const Tensor x = ints({3}, {7, -2, -6}, ElementType::i32);
  EXPECT_EQ(NodeUnderTest("ReduceMean", 18).input(x).run().get_int(0), 0);
  EXPECT_EQ(NodeUnderTest("ReduceL1", 18).input(x).run().get_int(0), 15);
  EXPECT_EQ(NodeUnderTest("ReduceL2", 18).input(x).run().get_int(0), 9);  // sqrt(89)
  const Tensor flags = ints({2}, {1, 0}, ElementType::boolean);
  EXPECT_EQ(NodeUnderTest("ReduceMax", 20).input(flags).run().get_int(0), 1);
  EXPECT_EQ(NodeUnderTest("ReduceMin", 20).input(flags).run().get_int(0), 0);
  EXPECT_THROW(NodeUnderTest("ReduceSum", 13).input(flags).run(), Error);
}

TEST(Arg, TiesAndNaN) {
  const Tensor x = reals({2, 4}, {3, 1, 3, 1, 0, nan, 9, nan});
  const auto arg = [&](const char* op, int64_t last) {
    return NodeUnderTest(op, 13)
        .input(x)
        .set("axis", int64_t{-1})
        .set("select_last_index", last)
        .run()
        .to_ints();
  };
  EXPECT_EQ(arg("ArgMax", 0), (Ints{0, 1}));
  EXPECT_EQ(arg("ArgMax", 1), (Ints{2, 3}));
  EXPECT_EQ(arg("ArgMin", 0), (Ints{1, 1}));
  EXPECT_EQ(arg("ArgMin", 1), (Ints{3, 3}));
  const Tensor extreme = ints({2}, {-1, -1}, ElementType::u64);
  EXPECT_EQ(NodeUnderTest("ArgMin", 13).input(extreme).run().to_ints(), Ints{0});
  EXPECT_THROW(NodeUnderTest("ArgMax", 13).input(reals({0}, {})).run(), Error);
}

TEST(Cumulative, ExclusiveAndReverse) {
  const Tensor x = ints({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto sums = [&](int64_t axis, int64_t exclusive, int64_t reverse) {
    return NodeUnderTest("CumSum", 14)
        .input(x)
        .input(ints({}, {axis}))
        .set("exclusive", exclusive)
        .set("reverse", reverse)
        .run()
        .to_ints();
  };
  EXPECT_EQ(sums(1, 0, 0), (Ints{1, 3, 6, 4, 9, 15}));
  EXPECT_EQ(sums(-1, 1, 0), (Ints{0, 1, 3, 0, 4, 9}));
  EXPECT_EQ(sums(1, 0, 1), (Ints{6, 5, 3, 15, 11, 6}));
  EXPECT_EQ(sums(1, 1, 1), (Ints{5, 3, 0, 11, 6, 0}));
  EXPECT_EQ(sums(0, 0, 0), (Ints{1, 2, 3, 5, 7, 9}));
  EXPECT_THROW(sums(2, 0, 0), Error);
  const Tensor nothing = NodeUnderTest("CumSum", 14).input(reals({0}, {})).input(ints({}, {0})).run();
  EXPECT_EQ(nothing.shape(), Shape{0});
}

TEST(Det, ExchangesRowsAndSeesSingularMatrices) {
  const auto det = [](const Shape& shape, const Reals& values) {
    return to_reals(NodeUnderTest("Det", 22).input(reals(shape, values)).run());
  };
  EXPECT_EQ(det({2, 2, 2}, {0, 1, 1, 0, 1, 2, 2, 4}), (Reals{-1, 0}));
  EXPECT_EQ(det({3, 3}, {0, 2, 1, 1, 0, 0, 0, 0, 4}), Reals{-8});
  EXPECT_EQ(det({0, 0}, {}), Reals{1});
  EXPECT_TRUE(std::isnan(det({2, 2}, {nan, 1, 1, 0})[0]));
  EXPECT_THROW(det({2, 3}, {1, 2, 3, 4, 5, 6}), Error);
}

Tensor einsum(const std::string& equation, const std::vector<Tensor>& inputs) {
  NodeUnderTest node("Einsum", 12);
  for (const Tensor& input : inputs) node.input(input);
  return node.set("equation", equation).run();
}

TEST(Einsum, ReadsEveryFormOfEquation) {
  const Tensor a = ints({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor square = ints({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(einsum("ij->ji", {a}).to_ints(), (Ints{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(einsum(" b a ", {a}).to_ints(), (Ints{1, 4, 2, 5, 3, 6}));  // Implicit output in ASCII order.
  EXPECT_EQ(einsum("ij->", {a}).to_ints(), Ints{21});
  EXPECT_EQ(einsum("ii", {square}).to_ints(), Ints{5});
  EXPECT_EQ(einsum("...ii->...i", {square}).to_ints(), (Ints{1, 4}));
  EXPECT_EQ(einsum("...j,j", {a, ints({3}, {1, 0, 2})}).to_ints(), (Ints{7, 16}));
  EXPECT_EQ(einsum(",ij->ji", {ints({}, {2}), a}).to_ints(), (Ints{2, 8, 4, 10, 6, 12}));
  EXPECT_EQ(einsum("i...,...i->...", {a, ints({1, 2}, {1, 10})}).to_ints(), (Ints{41, 52, 63}));
  EXPECT_EQ(einsum("iI->Ii", {a}).to_ints(), (Ints{1, 4, 2, 5, 3, 6}));
  for (const char* bad :
       {"ij->iij", "ij->k", "i", "ijk", "i.j", "ij,jk", "....ij", "......", "i1", "ij->i->j"}) {
    EXPECT_THROW(einsum(bad, {a}), Error) << bad;
  }
  EXPECT_THROW(einsum("ij,jk", {a, a}), Error);
}

TEST(Einsum, ThreeFactorsContractFromTheLeft) {
  const unsigned seed = 7;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto draw = [&](const Shape& shape) {
    Ints values;
    for (int64_t k = 0; k < element_count(shape); ++k)
      values.push_back(static_cast<int64_t>(random() % 9) - 4);
    return ints(shape, values);
  };
  const Tensor a = draw({2, 3, 4});
  const Tensor b = draw({4, 2, 5});
  const Tensor c = draw({5, 3});
  Ints want;
  for (int64_t k = 0; k < 3; ++k) {
    for (int64_t i = 0; i < 2; ++i) {
      int64_t sum = 0;
      for (int64_t l = 0; l < 4; ++l) {
        for (int64_t m = 0; m < 5; ++m) {
          sum += a.get_int((i * 3 + k) * 4 + l) * b.get_int((l * 2 + i) * 5 + m) * c.get_int(m * 3 + k);
        }
      }
      want.push_back(sum);
    }
  }
  EXPECT_EQ(einsum("ikl,lim,mk->ki", {a, b, c}).to_ints(), want);
}

TEST(Generators, RangesOfEverySign) {
  const auto range = [](const Tensor& start, const Tensor& limit, const Tensor& delta) {
    return NodeUnderTest("Range", 11).input(start).input(limit).input(delta).run();
  };
  const auto of = [](int64_t v) { return ints({}, {v}, ElementType::i32); };
  EXPECT_EQ(range(of(10), of(4), of(-4)).to_ints(), (Ints{10, 6}));
  EXPECT_EQ(range(of(1), of(1), of(1)).shape(), Shape{0});
  EXPECT_EQ(range(of(5), of(1), of(1)).shape(), Shape{0});
  EXPECT_THROW(range(of(5), of(1), of(0)), Error);
  EXPECT_EQ(to_reals(range(reals({}, {0}), reals({}, {1}), reals({}, {0.25}))), (Reals{0, 0.25, 0.5, 0.75}));
  EXPECT_THROW(range(reals({}, {0}), reals({}, {1}), reals({}, {0})), Error);
  EXPECT_THROW(range(reals({}, {0}), reals({}, {nan}), reals({}, {1})), Error);
  constexpr int64_t least = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(range(ints({}, {0}), ints({}, {least}), ints({}, {least})).to_ints(), Ints{0});
}

TEST(Generators, ConstantsAndDiagonals) {
  const Tensor filled = NodeUnderTest("ConstantOfShape", 9)
                            .input(ints({2}, {1, 2}))
                            .set("value", ints({1}, {7}, ElementType::u8))
                            .run();
  EXPECT_EQ(filled.type(), ElementType::u8);
  EXPECT_EQ(filled.to_ints(), (Ints{7, 7}));
  EXPECT_THROW(NodeUnderTest("ConstantOfShape", 9).input(ints({1}, {-1})).run(), Error);
  EXPECT_THROW(NodeUnderTest("ConstantOfShape", 9).input(ints({2}, {1 << 30, int64_t{1} << 40})).run(),
               Error);
  NodeUnderTest eye("EyeLike", 9);
  eye.input(ints({2, 3}, {0, 0, 0, 0, 0, 0}, ElementType::i32)).set("k", int64_t{1});
  EXPECT_EQ(eye.run().to_ints(), (Ints{0, 1, 0, 0, 0, 1}));
  EXPECT_EQ(eye.set("dtype", int64_t{11}).run().type(), ElementType::f64);
  EXPECT_EQ(eye.set("k", std::numeric_limits<int64_t>::min()).run().get_real(0), 0);
}

}  // namespace
}  // namespace axrun::ir::test
