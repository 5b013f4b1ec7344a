#include <gtest/gtest.h>

#include <cmath>

#include "tests/ir/node_under_test.h"

namespace axrun::ir::test {
namespace {

struct Moments {
  double mean = 0;
  double variance = 0;
};

Moments moments_of(const std::vector<double>& values) {
  Moments m;
  for (double v : values) m.mean += v / static_cast<double>(values.size());
  for (double v : values) m.variance += (v - m.mean) * (v - m.mean) / static_cast<double>(values.size());
  return m;
}

NodeUnderTest drawn(const std::string& op, double seed) {
  return NodeUnderTest(op, 15).set("shape", std::vector<int64_t>{100, 400}).set_real("seed", seed);
}

TEST(Random, UniformHasItsRangeMeanAndVariance) {
  const auto values = to_reals(drawn("RandomUniform", 1).set_real("low", -2).set_real("high", 4).run());
  for (double v : values) ASSERT_TRUE(v >= -2 && v < 4) << v;
  const Moments m = moments_of(values);
  EXPECT_NEAR(m.mean, 1, 0.05);  // 6 standard errors
  EXPECT_NEAR(m.variance, 3, 0.1);
}

TEST(Random, NormalHasItsMeanAndVariance) {
  const auto values = to_reals(drawn("RandomNormal", 2).set_real("mean", 5).set_real("scale", 3).run());
  const Moments m = moments_of(values);
  EXPECT_NEAR(m.mean, 5, 0.1);
  EXPECT_NEAR(m.variance, 9, 0.4);
  double within = 0;
  for (double v : values) within += std::fabs(v - 5) < 3 ? 1 : 0;
  EXPECT_NEAR(within / static_cast<double>(values.size()), 0.6827, 0.015);
}

TEST(Random, SeedsRepeatAndDiffer) {
  const auto first = to_reals(drawn("RandomUniform", 7).run());
  EXPECT_EQ(first, to_reals(drawn("RandomUniform", 7).run()));
  const auto second = to_reals(drawn("RandomUniform", 8).run());
  double product = 0;
  for (size_t k = 0; k < first.size(); ++k) product += (first[k] - 0.5) * (second[k] - 0.5);
  EXPECT_NEAR(product / static_cast<double>(first.size()), 0, 0.003);
}

TEST(Random, BernoulliAndMultinomialFollowTheirProbabilities) {
  const auto tossed =
      to_reals(NodeUnderTest("Bernoulli", 15).input(reals({30000}, std::vector<double>(30000, 0.25))).run());
  EXPECT_NEAR(moments_of(tossed).mean, 0.25, 0.015);
  const Tensor classes = NodeUnderTest("Multinomial", 7)
                             .input(reals({1, 3}, {std::log(0.5), std::log(0.2), std::log(0.3)}))
                             .set("sample_size", int64_t{30000})
                             .run();
  EXPECT_EQ(classes.type(), ElementType::i32);
  double counts[3] = {0, 0, 0};
  for (int64_t c : classes.to_ints()) counts[c] += 1.0 / 30000;
  EXPECT_NEAR(counts[0], 0.5, 0.02);
  EXPECT_NEAR(counts[1], 0.2, 0.02);
}

TEST(Random, DropoutInTrainingDropsItsShareAndScalesTheRest) {
  const auto results = NodeUnderTest("Dropout", 13, 2)
                           .input(reals({30000}, std::vector<double>(30000, 3)))
                           .input(reals({}, {0.25}))
                           .input(ints({}, {1}, ElementType::boolean))
                           .set("seed", int64_t{5})
                           .run_all();
  const auto mask = results[1].to_ints();
  double kept = 0;
  for (int64_t k = 0; k < 30000; ++k) {
    ASSERT_EQ(results[0].get_real(k), mask[static_cast<size_t>(k)] != 0 ? 4 : 0) << k;
    kept += static_cast<double>(mask[static_cast<size_t>(k)]) / 30000;
  }
  EXPECT_NEAR(kept, 0.75, 0.015);  // 6 standard errors
}

}  // namespace
}  // namespace axrun::ir::test
