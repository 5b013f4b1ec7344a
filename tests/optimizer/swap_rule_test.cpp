#include "runtime/optimizer/swap_rule.h"

#include <gtest/gtest.h>

namespace axrun::runtime {
namespace {

TEST(SwapRule, WaitsWhileTheNextKernelsWillSpareMore) {
  SwapRule rule(0.1);
  rule.tried(0.3, 0.1);
  EXPECT_FALSE(rule.says_now(0.3));
  rule.tried(0.3, 0.1);
  rule.tried(0.3, 0.1);
  EXPECT_TRUE(rule.says_now(0.9));
}

TEST(SwapRule, DoesNotWaitForNextToNothing) {
  SwapRule rule(0.1);
  rule.tried(0.95, 0.1);
  EXPECT_TRUE(rule.says_now(0.4));
}

TEST(SwapRule, CandidatesThatTakeLongAreNotWaitedFor) {
  SwapRule rule(0.1);
  rule.tried(0.3, 0.1);
  EXPECT_TRUE(rule.says_now(10));
}

TEST(SwapRule, KnowsWhatASwapTakesFromTheLastOne) {
  SwapRule rule(0.1);
  rule.tried(0.4, 0.1);
  ASSERT_TRUE(rule.says_now(1));
  rule.swapped(10);
  EXPECT_EQ(rule.spared(), 0);
  rule.tried(0.4, 0.1);
  // The ten seconds are not the candidates'.
  EXPECT_FALSE(rule.says_now(12));
}

}  // namespace
}  // namespace axrun::runtime
