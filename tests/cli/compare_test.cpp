#include "runtime/cli/compare.h"

#include <gtest/gtest.h>

#include <cmath>

#include "runtime/cli/latency.h"

namespace axrun::tests {
namespace {

using cli::compare;
using cli::Comparison;
using cli::Tolerance;
using ir::ElementType;
using ir::Tensor;
using runtime::RuntimeValue;

RuntimeValue floats(const std::vector<double>& values, ElementType type = ElementType::f32) {
  Tensor tensor = Tensor::allocate(type, {static_cast<int64_t>(values.size())});
  for (size_t k = 0; k < values.size(); ++k) tensor.set_real(static_cast<int64_t>(k), values[k]);
  return RuntimeValue(tensor);
}

RuntimeValue integers(const std::vector<int64_t>& values) { return RuntimeValue(Tensor::from_i64(values)); }

TEST(Compare, FloatsWithinTheToleranceOfTheLargest) {
  EXPECT_TRUE(compare(floats({100, 1}), floats({100, 1.0099}), {1e-4}).ok);
  const Comparison far = compare(floats({100, 1}), floats({100, 1.011}), {1e-4});
  EXPECT_FALSE(far.ok);
  EXPECT_NEAR(far.max_abs_error, 0.011, 1e-6);
  EXPECT_NE(far.why.find("element [1]"), std::string::npos) << far.why;
}

TEST(Compare, SmallOutputsAreComparedAsIfOfAHundredth) {
  EXPECT_TRUE(compare(floats({0, 0}), floats({0, 0.9e-6}), {1e-4}).ok);
  EXPECT_FALSE(compare(floats({0, 0}), floats({0, 1.1e-6}), {1e-4}).ok);
}

TEST(Compare, NotFiniteNumbersMatchThemselvesOnly) {
  const double nan = NAN;
  const double infinity = HUGE_VAL;
  EXPECT_TRUE(compare(floats({nan, infinity, 1}), floats({nan, infinity, 1}), {1e-4}).ok);
  EXPECT_FALSE(compare(floats({1, 1}), floats({nan, 1}), {0.1}).ok);
  EXPECT_FALSE(compare(floats({nan, 1}), floats({1, 1}), {0.1}).ok);
  EXPECT_FALSE(compare(floats({infinity, 1}), floats({-infinity, 1}), {0.1}).ok);
  EXPECT_FALSE(compare(floats({infinity, 1}), floats({1e30, 1}), {0.1}).ok);
  EXPECT_TRUE(std::isinf(compare(floats({1, 1}), floats({nan, 1}), {0.1}).max_abs_error));
}

TEST(Compare, TypesShapesAndKindsMustAgree) {
  EXPECT_FALSE(compare(floats({1}), floats({1}, ElementType::f64), {1}).ok);
  EXPECT_FALSE(compare(floats({1}), floats({1, 1}), {1}).ok);
  EXPECT_FALSE(compare(floats({1}), RuntimeValue::sequence({floats({1})}), {1}).ok);
}

TEST(Compare, IntegersMustBeEqualUnlessQuantised) {
  std::vector<int64_t> want(100, 7);
  std::vector<int64_t> five = want;
  for (size_t k = 0; k < 5; ++k) five[k] = 8;
  std::vector<int64_t> six = five;
  six[5] = 8;
  EXPECT_TRUE(compare(integers(want), integers(want), {1e-4}).ok);
  EXPECT_FALSE(compare(integers(want), integers(five), {1e-4}).ok);
  EXPECT_TRUE(compare(integers(want), integers(five), {0.1}).ok);
  EXPECT_FALSE(compare(integers(want), integers(six), {0.1}).ok);
}

TEST(Compare, QuantisedFloatsMayBeFarInFewElements) {
  std::vector<double> want(1000, 1.0);
  std::vector<double> five = want;
  for (size_t k = 0; k < 5; ++k) five[k] = 1.08;
  std::vector<double> six = five;
  six[5] = 1.08;
  EXPECT_TRUE(compare(floats(want), floats(five), {0.1}).ok);
  EXPECT_FALSE(compare(floats(want), floats(six), {0.1}).ok);
  five[0] = 1.2;
  EXPECT_FALSE(compare(floats(want), floats(five), {0.1}).ok) << "beyond the tolerance itself";
}

TEST(Compare, ContainersElementByElement) {
  const auto pair = [](double second) { return RuntimeValue::sequence({floats({1}), floats({second})}); };
  EXPECT_TRUE(compare(pair(2), pair(2), {1e-4}).ok);
  const Comparison different = compare(pair(2), pair(3), {1e-4});
  EXPECT_FALSE(different.ok);
  EXPECT_NE(different.why.find("element 1"), std::string::npos) << different.why;
  EXPECT_FALSE(compare(pair(2), RuntimeValue::sequence({floats({1})}), {1e-4}).ok);
  const auto map = [](int64_t key) { return RuntimeValue::map(Tensor::from_i64({key}), floats({1}).tensor); };
  EXPECT_TRUE(compare(map(1), map(1), {1e-4}).ok);
  EXPECT_FALSE(compare(map(1), map(2), {1e-4}).ok);
}

TEST(Compare, Strings) {
  const RuntimeValue a(Tensor::from_strings({2}, {"a", "b"}));
  EXPECT_TRUE(compare(a, RuntimeValue(Tensor::from_strings({2}, {"a", "b"})), {1}).ok);
  EXPECT_FALSE(compare(a, RuntimeValue(Tensor::from_strings({2}, {"a", "c"})), {1}).ok);
}

TEST(Latency, PercentilesAreInterpolated) {
  std::vector<double> times;
  for (int k = 100; k >= 0; --k) times.push_back(k);
  const cli::Latency latency = cli::latency_of(times);
  EXPECT_EQ(latency.min, 0);
  EXPECT_EQ(latency.max, 100);
  EXPECT_DOUBLE_EQ(latency.mean, 50);
  EXPECT_DOUBLE_EQ(latency.p50, 50);
  EXPECT_DOUBLE_EQ(latency.p99, 99);
  EXPECT_DOUBLE_EQ(cli::latency_of({1, 2}).p50, 1.5);
  EXPECT_EQ(cli::latency_of({3}).stddev, 0);
}

TEST(Latency, NoiseNeedsEnoughRuns) {
  EXPECT_TRUE(cli::is_noisy(cli::latency_of({1, 1, 1, 1, 1, 1, 1, 1, 9, 9}), 10));
  EXPECT_FALSE(cli::is_noisy(cli::latency_of({1, 9}), 2));
  EXPECT_FALSE(cli::is_noisy(cli::latency_of(std::vector<double>(20, 1.0)), 20));
}

}  // namespace
}  // namespace axrun::tests
