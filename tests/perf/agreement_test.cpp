// What the kernel benchmarks accept as the same result, and what they must refuse.
#include "perf/kernels/agreement.h"

#include <gtest/gtest.h>

#include <limits>

#include "perf/kernels/array.h"

namespace axrun::perf {
namespace {

constexpr int64_t columns = 64;

/// Sums over the terms of random vectors times a matrix of `columns` columns, from term `first` on, in steps.
std::vector<float> sums(int64_t terms, int64_t first, int64_t step) {
  const Array<float> a = random_floats(terms, 1), b = random_floats(terms * columns, 2);
  std::vector<float> result(columns);
  for (int64_t j = 0; j < columns; ++j) {
    for (int64_t i = first; i >= 0 && i < terms; i += step)
      result[j] += a.data()[i] * b.data()[i * columns + j];
  }
  return result;
}

bool agrees(const std::vector<float>& result, const std::vector<float>& wanted, double tolerance) {
  return !disagreement("x", result.data(), wanted, tolerance);
}

TEST(Agreement, AnotherOrderOfSummingIsTheSame) {
  for (int64_t terms : {1, 64, 4096, 100000}) {
    EXPECT_TRUE(agrees(sums(terms, 0, 1), sums(terms, terms - 1, -1), tolerance_of_sums(terms))) << terms;
  }
}

TEST(Agreement, AMissingTermIsNot) {
  for (int64_t terms : {2, 64, 4096, 10000}) {
    EXPECT_FALSE(agrees(sums(terms, 1, 1), sums(terms, 0, 1), tolerance_of_sums(terms))) << terms;
  }
}

TEST(Agreement, OneWrongElementIsEnough) {
  const std::vector<float> wanted(1000, 1.0f);
  std::vector<float> result = wanted;
  EXPECT_TRUE(agrees(result, wanted, 1e-4));
  result[999] = 1.001f;
  EXPECT_FALSE(agrees(result, wanted, 1e-4));
  EXPECT_EQ(disagreement("some library", result.data(), wanted, 1e-4)->find("some library"), 0u);
}

TEST(Agreement, WhatIsNotFiniteNeverAgrees) {
  for (float odd : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_FALSE(agrees({odd}, {1}, 1));
    EXPECT_FALSE(agrees({1}, {odd}, 1));
    EXPECT_FALSE(agrees({odd}, {odd}, 1));
  }
}

TEST(Agreement, ZerosAgreeWithZerosOnly) {
  EXPECT_TRUE(agrees({0, 0}, {0, 0}, 1e-4));
  EXPECT_FALSE(agrees({0, 1e-9f}, {0, 0}, 1e-4));
}

}  // namespace
}  // namespace axrun::perf
