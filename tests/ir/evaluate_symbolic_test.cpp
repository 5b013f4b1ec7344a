#include <gtest/gtest.h>

#include "ir/builder.h"
#include "ir/error.h"
#include "ir/evaluate.h"

namespace axrun::ir {
namespace {

using enum ElementType;

const Dim n = Dim::symbol("n");
const Dim m = Dim::symbol("m");

/// The map of one operand of the given elements.
template <typename Body>
std::optional<Dims> map_of(const Dims& elements, int64_t count, Body body) {
  Builder b("symbolic");
  TensorRef x = b.operand(0, i64, {static_cast<int64_t>(elements.size())});
  b.output(b.map({count}, [&](const Indices& i) { return body(b, x, i); }));
  return evaluate_symbolic(b.finish(), {elements})[0];
}

template <typename Body>
void expect_one(const Dim& element, const std::optional<Dim>& expected, Body body) {
  auto got =
      map_of({element}, 1, [&](Builder& b, const TensorRef& x, const Indices& i) { return body(b, x(i)); });
  ASSERT_EQ(got.has_value(), expected.has_value());
  if (expected) {
    EXPECT_EQ((*got)[0], *expected) << (*got)[0].to_string();
  }
}

TEST(EvaluateSymbolic, GathersAndConcatenates) {
  auto got = map_of({n, 3, m}, 4, [](Builder&, const TensorRef& x, const Indices& i) {
    return x.padded({i[0] - 1}, -1.0);
  });
  ASSERT_TRUE(got);
  EXPECT_EQ(*got, (Dims{-1, n, 3, m}));
}

TEST(EvaluateSymbolic, Arithmetic) {
  expect_one(n, n * 2 + 1, [](Builder&, const Scalar& x) { return x * 2 + 1; });
  expect_one(n, floor_div(n, 2), [](Builder&, const Scalar& x) { return x / 2; });
  expect_one(n * 4, n, [](Builder&, const Scalar& x) { return x / 4; });
  expect_one(n - 5, std::nullopt, [](Builder&, const Scalar& x) { return x / 2; });
  expect_one(n - 5, floor_div(n - 5, 2), [](Builder&, const Scalar& x) { return floor_div(x, 2); });
  expect_one(n, floor_mod(n, 3), [](Builder&, const Scalar& x) { return remainder(x, 3); });
  expect_one(n, std::nullopt, [](Builder&, const Scalar& x) { return x / 0; });
  expect_one(7, Dim(2), [](Builder&, const Scalar& x) { return x / 3; });
  expect_one(n, max(n, Dim(2)), [](Builder&, const Scalar& x) { return max(x, 2); });
  expect_one(n, std::nullopt, [](Builder&, const Scalar& x) { return binary(ScalarOp::bit_and, x, x + 1); });
}

TEST(EvaluateSymbolic, ComparisonsThatAreCertain) {
  auto choose = [](auto condition) {
    return
        [condition](Builder& b, const Scalar& x) { return select(condition(x), b.integer(1), b.integer(2)); };
  };
  expect_one(n, Dim(1), choose([](const Scalar& x) { return x >= 0; }));
  expect_one(n, Dim(2), choose([](const Scalar& x) { return x == -1; }));
  expect_one(n, std::nullopt, choose([](const Scalar& x) { return x > 3; }));
  expect_one(n + 4, Dim(1), choose([](const Scalar& x) { return x > 3; }));
  expect_one(n, Dim(1), choose([](const Scalar& x) { return logical_or(x > 3, x >= 0); }));
  expect_one(n, n, [](Builder&, const Scalar& x) { return select(x > 3, x, x + 0); });
}

TEST(EvaluateSymbolic, Floats) {
  auto scaled = [](double factor) {
    return [factor](Builder&, const Scalar& x) { return cast(i64, floor(cast(f32, x) * factor)); };
  };
  expect_one(n, n * 2, scaled(2.0));
  expect_one(n, floor_div(n, 2), scaled(0.5));
  expect_one(n, floor_div(n * 5, 4), scaled(1.25));
  expect_one(n, std::nullopt, scaled(0.1));
  expect_one(n, ceil_div(n, 2),
             [](Builder&, const Scalar& x) { return cast(i64, ceil(cast(f32, x) / 2.0)); });
  expect_one(n, n, [](Builder&, const Scalar& x) { return cast(i32, cast(f32, x)) * 1 + 0; });
  expect_one(-3, Dim(-3), [](Builder&, const Scalar& x) { return cast(i64, cast(f32, x)); });
  expect_one(n, std::nullopt, [](Builder&, const Scalar& x) { return cast(i64, cast(f16, x)); });
}

TEST(EvaluateSymbolic, Reductions) {
  Builder b("reduce");
  TensorRef x = b.operand(0, i64, {3});
  for (auto kind : {Monoid::Kind::sum, Monoid::Kind::product, Monoid::Kind::max}) {
    b.output(b.reduce(kind, {}, {3}, [&](const Indices&, const Indices& r) { return x(r); }));
  }
  auto got = evaluate_symbolic(b.finish(), {Dims{n, 4, m}});
  EXPECT_EQ(*got[0], Dims{n + m + 4});
  EXPECT_EQ(*got[1], Dims{n * m * 4});
  EXPECT_EQ(*got[2], Dims{max(max(n, Dim(4)), m)});
}

/// Over nothing a reduction is its monoid's neutral element. The largest u64 is no size.
TEST(EvaluateSymbolic, ReductionsOfNothing) {
  const auto over_nothing = [](ElementType type, Monoid::Kind kind) {
    Builder b("nothing");
    const TensorRef x = b.operand(0, type, {0});
    b.output(b.reduce(kind, {1}, {0}, [&](const Indices&, const Indices& r) { return x(r); }));
    return evaluate_symbolic(b.finish(), {Dims{}})[0];
  };
  EXPECT_EQ(over_nothing(i64, Monoid::Kind::sum), Dims{0});
  EXPECT_EQ(over_nothing(u8, Monoid::Kind::min), Dims{255});
  EXPECT_EQ(over_nothing(i8, Monoid::Kind::max), Dims{-128});
  EXPECT_EQ(over_nothing(boolean, Monoid::Kind::min), Dims{1});
  EXPECT_EQ(over_nothing(boolean, Monoid::Kind::max), Dims{0});
  EXPECT_FALSE(over_nothing(u64, Monoid::Kind::min));
}

TEST(EvaluateSymbolic, WhatIsNotKnown) {
  Builder b("unknown");
  TensorRef x = b.operand(0, i64, {2});
  TensorRef y = b.operand(1, i64, {1});
  b.output(b.map({2}, [&](const Indices& i) { return x(i) * y({b.integer(0)}); }));
  b.output(b.map({1}, [&](const Indices& i) { return x({i[0] + 1}); }));
  b.output(b.map({100}, [&](const Indices& i) { return i[0]; }));
  b.output(b.map({n}, [&](const Indices& i) { return i[0]; }));
  b.output(b.map({1}, [&](const Indices&) { return b.real(f32, 1); }));
  auto got = evaluate_symbolic(b.finish(), {Dims{n, 4}, std::nullopt}, 64);
  EXPECT_FALSE(got[0]);
  EXPECT_EQ(*got[1], Dims{4});
  EXPECT_FALSE(got[2]);
  EXPECT_FALSE(got[3]);
  EXPECT_FALSE(got[4]);
}

/// The reduction of {unknown, 3, 0} by a monoid.
template <typename Reduce>
std::optional<Dims> reduction_behind_unknown(Reduce reduce) {
  Builder b("reduction");
  TensorRef unknown = b.operand(0, i64, {1});
  TensorRef known = b.operand(1, i64, {2});
  TensorRef x = b.map({3}, [&](const Indices& i) {
    return select(i[0] == 0, unknown({b.integer(0)}), known.padded({i[0] - 1}, 0.0));
  });
  b.output(reduce(b, x));
  return evaluate_symbolic(b.finish(), {std::nullopt, Dims{3, 0}})[0];
}

TEST(EvaluateSymbolic, UnknownStatesOfReductions) {
  const auto by = [](Monoid::Kind kind) {
    return reduction_behind_unknown([kind](Builder& b, const TensorRef& x) {
      return b.reduce(kind, {}, {3}, [&](const Indices&, const Indices& r) { return x(r); });
    });
  };
  EXPECT_FALSE(by(Monoid::Kind::sum));
  EXPECT_FALSE(by(Monoid::Kind::max));
  EXPECT_EQ(by(Monoid::Kind::product), Dims{0});
  // What a combination of the right state alone makes is known again.
  EXPECT_EQ(reduction_behind_unknown([](Builder& b, const TensorRef& x) {
              return b.reduce_tuple(
                  {}, {3}, {b.integer(0)},
                  [&](const Indices&, const Indices& r) { return std::vector<Scalar>{x(r)}; },
                  [](const std::vector<Scalar>&, const std::vector<Scalar>& right) { return right; })[0];
            }),
            Dims{0});
}

}  // namespace
}  // namespace axrun::ir
