#include "verify/error_bound.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "ir/evaluate.h"
#include "ir/text.h"

namespace axrun::verify {
namespace {

using ir::ElementType;
using ir::Tensor;

constexpr double infinity = std::numeric_limits<double>::infinity();

const char* const product_text = R"(program Product(a: f32[m, k], b: f32[k, n], bias: f32[n]) -> (y) {
  c: f32[m, n] = reduce sum (i: m, j: n; p: k) { a[i, p] * b[p, j] }
  y: f32[m, n] = map (i: m, j: n) { max(c[i, j] + bias[j], 0:f32) }
})";

const char* const softmax_text = R"(program Softmax(x: f32[n, c]) -> (y) {
  m: f32[n] = reduce max (i: n; r: c) { x[i, r] }
  s: f32[n] = reduce sum (i: n; r: c) { exp(x[i, r] - m[i]) }
  y: f32[n, c] = map (i: n, j: c) { exp(x[i, j] - m[i]) / s[i] }
})";

const char* const scan_text = R"(program Scan(x: f32[t, w], a: f32[w]) -> (last, e, y) {
  r: f32[t, w] = map (k: t, i: w) { x[k, i] * 0.5:f32 }
  last: f32[w], p: f32[w], e: f32[t, w], y: f32[t] = scan (length: t; captures: r; states: a, a)
  program step(r: f32[t, w], s: f32[w], p: f32[w]) -> (s1, s, s1, y) {
    s1: f32[w] = map (i: w) { tanh(s[i]) - p[i] * r[dim(t) - 1 - time, i] }
    y: f32[] = reduce sum (; i: w) { s1[i] + s[i] }
  }
})";

Tensor random(const ir::Shape& shape, uint64_t seed, double low = -1, double high = 1) {
  Tensor tensor = Tensor::allocate(ElementType::f32, shape);
  std::mt19937_64 engine(seed);
  std::uniform_real_distribution<double> uniform(low, high);
  for (int64_t k = 0; k < tensor.size(); ++k) tensor.set_real(k, uniform(engine));
  return tensor;
}

std::vector<int64_t> all_of(const ir::Shape& shape) {
  std::vector<int64_t> positions(static_cast<size_t>(ir::element_count(shape)));
  std::iota(positions.begin(), positions.end(), 0);
  return positions;
}

/// The centre is what the reference interpreter says, and lies in the interval.
void expect_reference(const char* text, const std::map<std::string, int64_t>& sizes,
                      const std::vector<Tensor>& operands) {
  const ir::Program program = ir::parse(text);
  const auto expected = ir::evaluate(program, operands, {.wide = true, .parallel_for = {}});
  ErrorBound bound(program, sizes, operands);
  for (size_t k = 0; k < expected.size(); ++k) {
    ASSERT_EQ(bound.output_shape(k), expected[k].shape());
    const auto intervals = bound.at(k, all_of(expected[k].shape()));
    for (int64_t position = 0; position < expected[k].size(); ++position) {
      const Interval& interval = intervals[static_cast<size_t>(position)];
      const double want = expected[k].get_real(position);
      if (std::isnan(want)) {
        EXPECT_TRUE(interval.is_nan() || interval.is_anything());
        continue;
      }
      EXPECT_NEAR(interval.value, want, 1e-9 * std::fabs(want) + 1e-300) << position;
      EXPECT_LE(interval.low, interval.value);
      EXPECT_GE(interval.high, interval.value);
    }
  }
}

TEST(ErrorBound, FollowsScans) {
  for (const int64_t length : {0, 1, 2, 9}) {
    for (const int64_t width : {1, 3, 300}) {
      expect_reference(scan_text, {{"t", length}, {"w", width}},
                       {random({length, width}, 1), random({width}, 2)});
    }
  }
}

/// What is exact stays so from step to step, and what rounds gets wider.
TEST(ErrorBound, BoundsOfScansGrowWithTheSteps) {
  const ir::Program program = ir::parse(R"(program Sums(x: f32[t], a: f32[]) -> (y) {
  s: f32[], y: f32[t] = scan (length: t; captures: x; states: a)
  program step(x: f32[t], s: f32[]) -> (s1, s1) { s1: f32[] = map () { s[] + x[time] } }
})");
  constexpr int64_t steps = 50;
  Tensor ones = Tensor::allocate(ElementType::f32, {steps}), zero = Tensor::allocate(ElementType::f32, {});
  for (int64_t k = 0; k < steps; ++k) ones.set_real(k, 1);
  zero.set_real(0, 0);
  ErrorBound exact(program, {{"t", steps}}, {ones, zero});
  for (const Interval& interval : exact.at(0, all_of({steps}))) EXPECT_TRUE(interval.is_certain());
  const std::vector<Tensor> rounding = {random({steps}, 3, 0.1, 1), zero};
  ErrorBound bound(program, {{"t", steps}}, rounding);
  const std::vector<Interval> intervals = bound.at(0, all_of({steps}));
  float sum = 0;
  for (size_t k = 0; k < steps; ++k) {
    sum += rounding[0].as<float>()[k];
    const Interval& interval = intervals[k];
    EXPECT_TRUE(interval.low <= static_cast<double>(sum) && static_cast<double>(sum) <= interval.high) << k;
    EXPECT_LT(interval.high - interval.low, 1e-4);
  }
  EXPECT_GT(intervals[steps - 1].high - intervals[steps - 1].low, intervals[2].high - intervals[2].low);
}

TEST(ErrorBound, AShareOfTheStepsIsFollowed) {
  const ir::Program program = ir::parse(scan_text);
  const std::map<std::string, int64_t> sizes = {{"t", 24}, {"w", 2}};
  const std::vector<Tensor> operands = {random({24, 2}, 1), random({2}, 2)};
  ErrorBound whole(program, sizes, operands), part(program, sizes, operands);
  part.follow_share_of_steps(4);
  const auto all = whole.at(1, all_of({24, 2})), some = part.at(1, all_of({24, 2}));
  for (size_t k = 0; k < all.size(); ++k) {
    EXPECT_FALSE(all[k].is_anything());
    EXPECT_EQ(some[k].is_anything(), k / 2 >= 6) << k;
    if (k / 2 < 6) {
      EXPECT_EQ(some[k].low, all[k].low) << k;
    }
  }
  for (const Interval& last : part.at(0, all_of({2}))) EXPECT_TRUE(last.is_anything());
  for (const Interval& last : whole.at(0, all_of({2}))) EXPECT_FALSE(last.is_anything());
}

TEST(ErrorBound, NoMoreStepsAreFollowedThanTakeTheWork) {
  const ir::Program program = ir::parse(scan_text);
  const std::map<std::string, int64_t> sizes = {{"t", 24}, {"w", 2}};
  const std::vector<Tensor> operands = {random({24, 2}, 1), random({2}, 2)};
  const auto followed = [&](int64_t most_work) {
    ErrorBound bound(program, sizes, operands);
    bound.follow_share_of_steps(1, most_work);
    int64_t steps = 0;
    for (const Interval& interval : bound.at(1, all_of({24, 2}))) steps += interval.is_anything() ? 0 : 1;
    return std::pair(steps / 2, bound.work());
  };
  const auto [all, work] = followed(0);
  EXPECT_EQ(all, 24);
  EXPECT_EQ(followed(work).first, 24);
  EXPECT_EQ(followed(1).first, 4) << "four at least";
  const auto [half, half_work] = followed(work / 2);
  EXPECT_TRUE(half >= 12 && half <= 14) << half;
  EXPECT_LE(half_work, work / 2 + work / 24 + 1);
}

TEST(ErrorBound, CentresOnTheReference) {
  expect_reference(product_text, {{"m", 5}, {"k", 300}, {"n", 7}},
                   {random({5, 300}, 1), random({300, 7}, 2), random({7}, 3)});
  expect_reference(product_text, {{"m", 5}, {"k", 3}, {"n", 17}},
                   {random({5, 3}, 1), random({3, 17}, 2), random({17}, 3)});
  expect_reference(softmax_text, {{"n", 4}, {"c", 600}}, {random({4, 600}, 4, -9, 9)});
  expect_reference(R"(program P(x: f32[n, c]) -> (s, p, l, h, t) {
    s: f32[c] = reduce sum (j: c; i: n) { x[i, j] }
    p: f32[n] = reduce product (i: n; j: c) { x[i, j] * 1.5:f32 }
    l: f32[] = reduce min (; i: n, j: c) { x[i, j] }
    h: f32[n] = reduce max (i: n; j: c) { tanh(x[i, j]) }
    t: f32[n, c] = map (i: n, j: c) { x[i, j - 1; j >= 1; 0:f32] + select(x[i, j] > 0.5:f32, 2:f32, erf(x[i, j])) }
  })",
                   {{"n", 6}, {"c", 11}}, {random({6, 11}, 5)});
}

TEST(ErrorBound, EmptyReductionsGiveTheIdentity) {
  expect_reference(product_text, {{"m", 2}, {"k", 0}, {"n", 3}},
                   {random({2, 0}, 1), random({0, 3}, 2), random({3}, 3)});
  expect_reference(product_text, {{"m", 0}, {"k", 4}, {"n", 3}},
                   {random({0, 4}, 1), random({4, 3}, 2), random({3}, 3)});
  expect_reference(softmax_text, {{"n", 3}, {"c", 0}}, {random({3, 0}, 1)});
}

/// Short ones share blocks of lanes, longer ones have blocks of their own.
TEST(ErrorBound, ReductionsOfEveryLengthMeetTheReference) {
  for (const int64_t length : {1, 8, 9, 47, 48, 49, 100, 255, 256, 257, 600}) {
    expect_reference(product_text, {{"m", 3}, {"k", length}, {"n", 5}},
                     {random({3, length}, 1), random({length, 5}, 2), random({5}, 3)});
  }
  for (const int64_t width : {6, 7, 15, 16, 17}) {
    expect_reference(R"(program P(x: f32[3, w, 8], y: f32[8]) -> (s) {
  t: f32[3, w, 8] = map (i: 3, j: w, k: 8) { x[i, j, k] * y[k] }
  s: f32[3] = reduce sum (i: 3; j: w, k: 8) { t[i, j, k] * x[i, j, 7 - k] }
})",
                     {{"w", width}}, {random({3, width, 8}, 1), random({8}, 2)});
  }
}

TEST(ErrorBound, SmallIntegersHaveOneResult) {
  Tensor a = Tensor::allocate(ElementType::f32, {4, 500});
  Tensor b = Tensor::allocate(ElementType::f32, {500, 3});
  Tensor bias = Tensor::allocate(ElementType::f32, {3});
  for (int64_t k = 0; k < a.size(); ++k) a.set_real(k, static_cast<double>(k % 15 - 7));
  for (int64_t k = 0; k < b.size(); ++k) b.set_real(k, static_cast<double>(k % 13 - 6));
  const ir::Program program = ir::parse(product_text);
  ErrorBound bound(program, {{"m", 4}, {"k", 500}, {"n", 3}}, {a, b, bias});
  for (const Interval& interval : bound.at(0, all_of({4, 3}))) EXPECT_TRUE(interval.is_certain());
  a.set_real(0, 0.1);
  bias.set_real(0, 30000);
  ErrorBound inexact(program, {{"m", 4}, {"k", 500}, {"n", 3}}, {a, b, bias});
  const std::vector<int64_t> first = {0};
  EXPECT_FALSE(inexact.at(0, first)[0].is_certain());
}

TEST(ErrorBound, HoldsSumsInAnyOrderAndIsTight) {
  std::mt19937 engine(7);
  const int64_t n = 1000;
  Tensor x = random({n}, 11);
  const ir::Program program =
      ir::parse("program S(x: f32[n]) -> (s) { s: f32[] = reduce sum (; i: n) { x[i] } }");
  ErrorBound bound(program, {{"n", n}}, {x});
  const std::vector<int64_t> first = {0};
  const Interval interval = bound.at(0, first)[0];
  std::vector<float> terms(x.as<float>(), x.as<float>() + n);
  for (int trial = 0; trial < 50; ++trial) {
    std::shuffle(terms.begin(), terms.end(), engine);
    if (trial == 0) std::sort(terms.begin(), terms.end());
    float sum = 0;
    for (float term : terms) sum += term;
    EXPECT_GE(sum, interval.low);
    EXPECT_LE(sum, interval.high);
  }
  EXPECT_LT(interval.high - interval.low, 2.1 * n * 0x1p-24 * n);
  EXPECT_GT(interval.high - interval.low, 0);
}

/// Address space is limited where the bound is used: 2^33 elements of four numbers would not fit.
TEST(ErrorBound, UntouchedPartsOfLargeIntermediatesTakeNoMemory) {
  Tensor x = Tensor::allocate(ElementType::f32, {1});
  x.as<float>()[0] = 3;
  const ir::Program program = ir::parse(
      "program P(x: f32[1]) -> (z) {\n"
      "  y: f32[n] = map (i: n) { x[0] * 2:f32 }\n"
      "  z: f32[3] = map (i: 3) { y[i * 4000000000] }\n}");
  ErrorBound bound(program, {{"n", int64_t{1} << 33}}, {x});
  const std::vector<int64_t> positions = {0, 1, 2};
  for (const Interval& interval : bound.at(0, positions)) EXPECT_EQ(interval.value, 6);
}

TEST(ErrorBound, OverflowDependsOnTheOrder) {
  Tensor x = Tensor::allocate(ElementType::f32, {4});
  const ir::Program program =
      ir::parse("program S(x: f32[n]) -> (s) { s: f32[] = reduce sum (; i: n) { x[i] } }");
  auto sum = [&](std::vector<double> terms) {
    for (int64_t k = 0; k < 4; ++k) x.set_real(k, terms[static_cast<size_t>(k)]);
    ErrorBound bound(program, {{"n", 4}}, {x});
    const std::vector<int64_t> first = {0};
    return bound.at(0, first)[0];
  };
  const Interval positive = sum({3e38, 3e38, -3e38, 1});
  EXPECT_EQ(positive.high, infinity);
  EXPECT_GT(positive.low, 0);
  EXPECT_TRUE(sum({3e38, 3e38, -3e38, -3e38}).is_anything());
  EXPECT_TRUE(sum({infinity, 1, -infinity, 2}).is_nan());
  EXPECT_TRUE(sum({NAN, 1, 2, 3}).is_nan());
  EXPECT_TRUE(sum({infinity, 1, 2, 3}).is_certain());
}

TEST(ErrorBound, DecisionsGoBothWaysOnlyNearTheThreshold) {
  const ir::Program program = ir::parse(R"(program D(x: f32[n]) -> (y) {
    y: f32[n] = map (i: n) { select(x[i] * 3:f32 > 1:f32, 10:f32, 20:f32) }
  })");
  Tensor x = Tensor::allocate(ElementType::f32, {3});
  x.set_real(0, 1.0 / 3);  // rounded up: the product is a little above 1, and 1 in f32
  x.set_real(1, 0.25);
  x.set_real(2, 0.5);
  ErrorBound bound(program, {{"n", 3}}, {x});
  const auto y = bound.at(0, all_of({3}));
  EXPECT_EQ(y[0].low, 10);
  EXPECT_EQ(y[0].high, 20);
  EXPECT_TRUE(y[1].is_certain());
  EXPECT_EQ(y[1].value, 20);
  EXPECT_TRUE(y[2].is_certain());
  EXPECT_EQ(y[2].value, 10);
}

TEST(ErrorBound, GathersByDataAndRefusesWhatLeadsOutside) {
  const ir::Program program = ir::parse(R"(program G(table: f32[r, c], ids: i64[n]) -> (y) {
    y: f32[n, c] = map (i: n, j: c) { table[ids[i], j] }
  })");
  Tensor table = random({4, 3}, 1);
  ErrorBound bound(program, {{"r", 4}, {"c", 3}, {"n", 2}}, {table, Tensor::from_i64({3, 0})});
  EXPECT_EQ(bound.at(0, all_of({2, 3}))[1].value, table.get_real(10));
  ErrorBound outside(program, {{"r", 4}, {"c", 3}, {"n", 2}}, {table, Tensor::from_i64({3, 4})});
  EXPECT_THROW(outside.at(0, all_of({2, 3})), NoBound);
}

TEST(ErrorBound, TuplesFindTheLargestWithItsPlace) {
  const ir::Program program = ir::parse(R"(program A(x: f32[n]) -> (v, p) {
    v: f32[], p: i64[] = reduce tuple (; i: n) {
      x[i], i
      identity -inf:f32, -1
      combine select(@2:f32 > @0:f32, @2:f32, @0:f32), select(@2:f32 > @0:f32, @3:i64, @1:i64)
    }
  })");
  Tensor x = random({40}, 9);
  x.set_real(23, 5);
  ErrorBound bound(program, {{"n", 40}}, {x});
  const std::vector<int64_t> first = {0};
  EXPECT_TRUE(bound.at(1, first)[0].is_certain());
  EXPECT_EQ(bound.at(1, first)[0].value, 23);
}

/// What large maps of operands give is not kept; where they are results as well, it is.
TEST(ErrorBound, ElementsOfLargeMapsAreTheSameWhereverTheyAreRead) {
  constexpr int64_t depth = 2100, columns = 2000;  // over 2^22 elements
  const std::string stages = R"( {
    w: f32[k, n] = map (p: k, j: n) { cast(f32, b[p, j]) * s[j] }
    c: f32[m, n] = reduce sum (i: m, j: n; p: k) { a[i, p] * w[p, j + p - 2; j + p >= 2 and j + p - 2 < dim(n); 0:f32] }
    d: f32[m, n] = reduce sum (i: m, j: n; p: 3) { w[i, j - p; j - p >= 0; 0:f32] }
  })";
  const std::string operands = "(a: f32[m, k], b: bf16[k, n], s: f32[n])";
  const ir::Program program = ir::parse("program P" + operands + " -> (c, d)" + stages);
  const ir::Program kept = ir::parse("program P" + operands + " -> (c, d, w)" + stages);
  Tensor b = Tensor::allocate(ElementType::bf16, {depth, columns});
  for (int64_t k = 0; k < b.size(); ++k) b.set_real(k, static_cast<double>(k % 251 - 100) / 64);
  const std::vector<Tensor> tensors = {random({2, depth}, 1), b, random({columns}, 2)};
  const std::map<std::string, int64_t> sizes = {{"m", 2}, {"k", depth}, {"n", columns}};
  ErrorBound bound(program, sizes, tensors), keeping(kept, sizes, tensors);
  std::vector<int64_t> positions = {0, 1, 2, 3, 4, 255, 256, 257, 1998, 1999, 2000, 2001, 3000, 3999};
  for (const size_t output : {size_t{0}, size_t{1}}) {
    const auto got = bound.at(output, positions), want = keeping.at(output, positions);
    for (size_t k = 0; k < positions.size(); ++k) {
      EXPECT_EQ(got[k].value, want[k].value) << positions[k];
      EXPECT_EQ(got[k].low, want[k].low) << positions[k];
      EXPECT_EQ(got[k].high, want[k].high) << positions[k];
      EXPECT_LT(got[k].low, got[k].high);
    }
  }
  // By hand: of the second one's first row.
  const auto w = [&](int64_t p, int64_t j) {
    return j < 0 ? 0.0 : b.get_real(p * columns + j) * tensors[2].get_real(j);
  };
  EXPECT_NEAR(bound.at(1, positions)[1].value, w(0, 1) + w(0, 0), 1e-12);
  EXPECT_NEAR(bound.at(1, positions)[11].value, w(1, 1) + w(1, 0), 1e-12);
}

TEST(ErrorBound, SaysWhatItCannotBound) {
  const ir::Program program =
      ir::parse("program S(x: f32[n]) -> (s) { s: f32[] = reduce sum (; i: n) { x[i] } }");
  EXPECT_THROW(ErrorBound(program, {}, {random({3}, 1)}), NoBound);
}

TEST(ErrorBound, SignsOfZero) {
  EXPECT_FALSE(sign_of_zero_is_certain(ir::parse(product_text), 0));
  EXPECT_TRUE(sign_of_zero_is_certain(ir::parse("program S(x: f32[n]) -> (y) { y: f32[n] = map (i: n) { "
                                                "select(x[i] > 1:f32, neg(x[i]), x[i] * 2:f32) } }"),
                                      0));
}

}  // namespace
}  // namespace axrun::verify
