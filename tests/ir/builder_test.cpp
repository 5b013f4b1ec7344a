#include "ir/builder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "ir/error.h"
#include "ir/evaluate.h"
#include "tests/ir/naive_evaluate.h"
#include "tests/ir/random_program.h"

namespace axrun::ir {
namespace {

using enum ElementType;

const Expr& expr(const Scalar& scalar) {
  return scalar.builder().program().exprs[static_cast<size_t>(scalar.id())];
}

void expect_integer(const Scalar& scalar, int64_t value) {
  EXPECT_EQ(expr(scalar).op, ScalarOp::integer);
  EXPECT_EQ(expr(scalar).integer, value);
}

int count_of(const Program& program, ScalarOp op) {
  return static_cast<int>(
      std::count_if(program.exprs.begin(), program.exprs.end(), [op](const Expr& e) { return e.op == op; }));
}

bool divides(const Program& program) {
  return count_of(program, ScalarOp::floor_div) != 0 || count_of(program, ScalarOp::floor_mod) != 0;
}

TEST(Builder, EqualNodesAreShared) {
  Builder b("shared");
  TensorRef x = b.operand(0, f32, {Dim::symbol("n"), 4});
  b.map(x.dims(), [&](const Indices& i) {
    Scalar first = x({i[0], i[1]}) * 2.0 + x({i[0], i[1]});
    size_t size = b.program().exprs.size();
    Scalar second = x({i[0], i[1]}) * 2.0 + x({i[0], i[1]});
    EXPECT_EQ(first.id(), second.id());
    EXPECT_EQ(b.program().exprs.size(), size);
    EXPECT_NE(b.real(f32, 0.0).id(), b.real(f32, -0.0).id());
    EXPECT_NE(b.real(f32, 1.0).id(), b.real(f64, 1.0).id());
    EXPECT_NE(b.extent(Dim::symbol("n")).id(), b.extent(Dim::symbol("m")).id());
    return first;
  });
}

TEST(Builder, LiteralsRoundAndWrap) {
  Builder b("literals");
  EXPECT_EQ(expr(b.literal(f32, 0.1)).real, static_cast<double>(0.1F));
  EXPECT_EQ(expr(b.real(f32, 0.1)).real, 0.1);
  expect_integer(b.integer(300, u8), 44);
  expect_integer(b.integer(200, i8), -56);
  expect_integer(b.integer(7, boolean), 1);
  expect_integer(b.literal(i32, -2.75), -2);
  EXPECT_THROW(b.literal(string, 1), Error);
}

TEST(Builder, FoldsIntegersExactly) {
  Builder b("folding");
  auto i = [&](int64_t value, ElementType type = i64) { return b.integer(value, type); };
  expect_integer(i(7) + i(5), 12);
  expect_integer(i(INT64_MAX) + i(1), INT64_MIN);
  expect_integer(i(INT64_MIN) / i(-1), INT64_MIN);
  expect_integer(floor_div(i(INT64_MIN), i(-1)), INT64_MIN);
  expect_integer(floor_mod(i(INT64_MIN), i(-1)), 0);
  expect_integer(remainder(i(INT64_MIN), i(-1)), 0);
  expect_integer(i(-7) / i(2), -3);
  expect_integer(floor_div(i(-7), i(2)), -4);
  expect_integer(floor_mod(i(-7), i(2)), 1);
  expect_integer(remainder(i(-7), i(2)), -1);
  expect_integer(floor_mod(i(7), i(-2)), -1);
  expect_integer(i(200, u8) + i(100, u8), 44);
  expect_integer(i(-1, u64) / i(2, u64), INT64_MAX);
  expect_integer(i(-1, u64) > i(1, u64), 1);
  expect_integer(max(i(-1, u64), i(1, u64)), -1);
  expect_integer(i(-1) > i(1), 0);
  expect_integer(-i(-128, i8), -128);
  expect_integer(!b.boolean(true), 0);
  expect_integer(cast(u8, i(-1)), 255);
  expect_integer(cast_saturate(u8, i(-1)), 0);
  expect_integer(cast_saturate(i8, i(-1, u64)), 127);
  expect_integer(binary(ScalarOp::shift_right, i(-1, u64), i(63, u64)), 1);
  expect_integer(binary(ScalarOp::shift_left, i(1, u8), i(8, u8)), 0);
  expect_integer(pow(i(3), i(5)), 243);
  expect_integer(pow(i(2), i(-1)), 0);
  expect_integer(pow(i(-1), i(-3)), -1);
  EXPECT_EQ(expr(i(1) / i(0)).op, ScalarOp::div);
  EXPECT_EQ(expr(cast(f64, i(-1, u64))).real, 18446744073709551616.0);
}

TEST(Builder, SimplifiesIndices) {
  Builder b("indices");
  Dim n = Dim::symbol("n");
  b.map({n, 6, 1}, [&](const Indices& i) {
    EXPECT_EQ((i[0] + 0).id(), i[0].id());
    EXPECT_EQ((0 + i[0]).id(), i[0].id());
    EXPECT_EQ((i[0] * 1).id(), i[0].id());
    expect_integer(i[0] * 0, 0);
    expect_integer(i[0] - i[0], 0);
    expect_integer(i[2], 0);
    EXPECT_EQ(floor_mod(i[1], 6).id(), i[1].id());
    expect_integer(floor_div(i[1], 6), 0);
    EXPECT_EQ(expr(floor_mod(i[1], 5)).op, ScalarOp::floor_mod);
    EXPECT_EQ(expr(floor_mod(i[0], 6)).op, ScalarOp::floor_mod);
    EXPECT_EQ(expr(b.extent(n) + 1).dim, n + 1);
    EXPECT_EQ(expr(b.extent(n) * 2 - b.extent(n)).dim, n);
    EXPECT_EQ(expr(floor_div(b.extent(n * 6), 3)).dim, n * 2);
    expect_integer(max(min(i[0], int64_t{3}), int64_t{3}), 3);
    expect_integer(min(max(i[0], int64_t{3}), int64_t{2}), 2);
    EXPECT_EQ(expr(max(min(i[0], int64_t{3}), int64_t{2})).op, ScalarOp::max);
    EXPECT_EQ(expr(min(max(i[0], int64_t{3}), int64_t{4})).op, ScalarOp::min);
    return i[0];
  });
}

TEST(Builder, NoFloatIsSimplified) {
  Builder b("floats");
  TensorRef x = b.operand(0, f32, {});
  Scalar value = x({});
  EXPECT_NE((value + 0.0).id(), value.id());
  EXPECT_NE((value * 0.0).id(), b.real(f32, 0).id());
  EXPECT_EQ(expr(value - value).op, ScalarOp::sub);
}

TEST(Builder, GuardsThatHoldAreLeftOut) {
  Builder b("guards");
  Dim n = Dim::symbol("n");
  TensorRef x = b.operand(0, f32, {n, 8});
  b.map({n, 6}, [&](const Indices& i) {
    EXPECT_EQ(expr(x.padded({i[0], i[1] + 2}, 0.0)).args[0], none);
    const Expr& left = expr(x.padded({i[0], i[1] - 1}, 0.0));
    EXPECT_EQ(b.program().exprs[static_cast<size_t>(left.args[0])].op, ScalarOp::greater_equal);
    const Expr& right = expr(x.padded({i[0] + 1, i[1]}, 0.0));
    EXPECT_EQ(b.program().exprs[static_cast<size_t>(right.args[0])].op, ScalarOp::less);
    return x(i);
  });
}

TEST(Builder, RefusesMixedTypes) {
  Builder b("mixed");
  TensorRef x = b.operand(0, f32, {});
  TensorRef s = b.operand(1, string, {});
  EXPECT_THROW(x({}) + b.integer(1), Error);
  EXPECT_THROW(cast(f32, s({})), Error);
  EXPECT_THROW(x({}) + cast(f64, s({})), Error);
  TensorRef v = b.operand(2, f32, {3});
  EXPECT_THROW(v({b.real(f32, 1)}), Error);
}

TEST(Builder, NamesAreUnique) {
  Builder b("names");
  TensorRef x = b.operand(0, f32, {2}, "x");
  EXPECT_EQ(b.operand(0, f32, {2}, "again").id(), x.id());
  TensorRef y = b.map(
      {2}, [&](const Indices& i) { return x(i); }, "x");
  EXPECT_EQ(b.program().tensors[static_cast<size_t>(y.id())].name, "x_2");
  TensorRef third = b.operand(3, f32, {});
  EXPECT_EQ(third.id(), b.program().operands[3]);
  EXPECT_EQ(b.program().operands[1], none);
}

TEST(Builder, StatesKeepTheirShape) {
  Builder b("states");
  TensorRef x = b.operand(0, f32, {2});
  EXPECT_THROW(b.scan(3, {}, {x},
                      [](Builder& step, const std::vector<TensorRef>&, const std::vector<TensorRef>& states) {
                        TensorRef grown =
                            step.map({3}, [&](const Indices&) { return states[0]({step.integer(0)}); });
                        return Builder::StepResult{{grown}, {}};
                      }),
               Error);
}

struct ReshapeCase {
  Dims from;
  Dims to;
  bool plain;  ///< no division and no modulo
};

/// A second operand of shape `sizes` tells the named sizes.
Program reshape_program(const Dims& from, const Dims& to, const Dims& sizes = {}) {
  Builder b("reshape");
  b.output(b.reshape(b.operand(0, i64, from), to));
  b.operand(1, i64, sizes);
  return b.finish();
}

/// Evaluates with concrete sizes and expects the elements in the same order.
void expect_same_order(const Program& program, const Shape& from, const Shape& to, const Shape& sizes = {}) {
  Tensor x = Tensor::allocate(i64, from);
  for (int64_t k = 0; k < x.size(); ++k) x.set_int(k, k);
  Tensor y = evaluate(program, {x, Tensor::allocate(i64, sizes)})[0];
  EXPECT_EQ(y.shape(), to);
  for (int64_t k = 0; k < y.size(); ++k)
    ASSERT_EQ(y.get_int(k), k) << to_string(from) << " to " << to_string(to);
}

TEST(Reshape, ConstantFactors) {
  const ReshapeCase cases[] = {
      {{2, 3, 4}, {6, 4}, true},
      {{6, 4}, {2, 3, 4}, true},
      {{24}, {2, 3, 4}, true},
      {{2, 12}, {4, 6}, true},
      {{2, 3, 4}, {24}, true},
      {{5, 7}, {7, 5}, false},
      {{1, 6, 1}, {6}, true},
      {{6}, {1, 1, 6, 1}, true},
      {{1}, {}, true},
      {{}, {1, 1}, true},
      {{4, 6, 8}, {6, 32}, false},
      {{2, 3, 5, 4}, {3, 2, 5, 2, 2}, false},
      {{0, 3}, {3, 0, 7}, true},
      {{2, 0, 3}, {0}, true},
      {{3, 5, 2}, {5, 6}, false},
      {{8, 9, 10}, {9, 8, 10}, false},
      {{12, 10}, {8, 15}, false},
  };
  for (const ReshapeCase& c : cases) {
    Program program = reshape_program(c.from, c.to);
    EXPECT_EQ(!divides(program), c.plain) << to_string(c.from) << " to " << to_string(c.to);
    expect_same_order(program, *constant_dims(c.from), *constant_dims(c.to));
  }
}

TEST(Reshape, OnlyTheGroupThatDoesNotAlignDivides) {
  Program program = reshape_program({2, 3, 5, 7, 4}, {2, 5, 3, 28});
  const Stage& stage = program.stages[0];
  EXPECT_EQ(stage.axes.size(), 5U);  // 2, then 5 and 3 as one group, then 7 and 4
  expect_same_order(program, {2, 3, 5, 7, 4}, {2, 5, 3, 28});
  EXPECT_EQ(count_of(program, ScalarOp::floor_div), 1);
  EXPECT_EQ(count_of(program, ScalarOp::floor_mod), 1);
}

TEST(Reshape, SymbolicFactors) {
  Dim b = Dim::symbol("b");
  Dim s = Dim::symbol("s");
  const ReshapeCase cases[] = {
      {{b, s, 768}, {b, s, 12, 64}, true},   {{b, s, 12, 64}, {b * s, 768}, true},
      {{b * s, 768}, {b, s, 768}, true},     {{b * s * 6}, {b, 2, s, 3}, true},
      {{2 * b, 6}, {b, 4, 3}, true},         {{b, s}, {s, b}, false},
      {{b, s, 6}, {b, 6, s}, false},         {{b + 1, 4}, {4 * b + 4}, true},
      {{b, s + 2, 4}, {b, 4 * s + 8}, true},
  };
  for (const ReshapeCase& c : cases) {
    Program program = reshape_program(c.from, c.to, {b, s});
    EXPECT_EQ(!divides(program), c.plain) << to_string(c.from) << " to " << to_string(c.to);
    for (auto [batch, sequence] : {std::pair<int64_t, int64_t>{2, 3}, {1, 1}, {5, 1}, {4, 7}, {0, 3}}) {
      std::map<std::string, Dim> sizes = {{"b", batch}, {"s", sequence}};
      Dims from;
      Dims to;
      for (const Dim& dim : c.from) from.push_back(dim.substitute(sizes));
      for (const Dim& dim : c.to) to.push_back(dim.substitute(sizes));
      expect_same_order(program, *constant_dims(from), *constant_dims(to), {batch, sequence});
    }
  }
}

/// Sizes that are equal though the polynomials differ: the caller knows.
TEST(Reshape, UnprovedProducts) {
  Dim n = Dim::symbol("n");
  Dim m = Dim::symbol("m");
  expect_same_order(reshape_program({n, 3}, {3, m}, {m}), {4, 3}, {3, 4}, {4});
  expect_same_order(reshape_program({n}, {}), {1}, {});
  Program program = reshape_program({5, 3}, {n, 5});
  EXPECT_THROW(evaluate(program, {Tensor::allocate(i64, {5, 3}), Tensor::scalar(i64, 0)}),
               Error);  // nothing tells n
}

TEST(Reshape, RandomFactors) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 300; ++round) {
    // Two ways to cut the same list of primes into dimensions.
    std::vector<int64_t> primes;
    for (int k = 0; k < 5; ++k) primes.push_back(std::vector<int64_t>{2, 3, 5, 1}[random() % 4]);
    auto cut = [&] {
      Shape shape = {1};
      for (int64_t prime : primes) {
        if (random() % 2 == 0) shape.push_back(1);
        shape.back() *= prime;
      }
      return shape;
    };
    Shape from = cut();
    if (random() % 2 == 0) std::shuffle(primes.begin(), primes.end(), random);
    Shape to = cut();
    expect_same_order(reshape_program(to_dims(from), to_dims(to)), from, to);
  }
}

}  // namespace
}  // namespace axrun::ir
