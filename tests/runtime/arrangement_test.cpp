// What forms keep for the plans that are bound from them.
#include "runtime/plan/arrangement.h"

#include <gtest/gtest.h>

namespace axrun::tests {
namespace {

using namespace runtime;

std::shared_ptr<const Arrangement> arrangement(int node) {
  auto made = std::make_shared<Arrangement>();
  made->joined = {{node, node + 1}};
  return made;
}

TEST(Arrangements, OfAFewListsOfJointsAreKept) {
  Arrangements kept;
  EXPECT_EQ(kept.find({{0, 1}}), nullptr);
  for (int node = 0; node < 3; ++node) kept.keep(arrangement(node));
  EXPECT_NE(kept.find({{0, 1}}), nullptr) << "asked for last: it stays";
  kept.keep(arrangement(3));
  EXPECT_NE(kept.find({{0, 1}}), nullptr);
  EXPECT_EQ(kept.find({{1, 2}}), nullptr);
  EXPECT_NE(kept.find({{2, 3}}), nullptr);
  EXPECT_EQ(kept.find({{0, 1}, {2, 3}}), nullptr) << "another list";
}

std::shared_ptr<const PlanVariant> variant(uint64_t version, int64_t number) {
  auto made = std::make_shared<PlanVariant>();
  made->version = version;
  made->numbers = {number};
  return made;
}

TEST(PlanVariants, AFewAreKeptOfWhatTheSourceKnowsNow) {
  PlanVariants kept;
  EXPECT_TRUE(kept.of(1).empty());
  for (int64_t number = 0; number < 10; ++number) kept.keep(variant(1, number));
  ASSERT_EQ(kept.of(1).size(), PlanVariants::most);
  EXPECT_EQ(kept.of(1).front()->numbers[0], 9) << "the one made last is tried first";
  EXPECT_TRUE(kept.of(2).empty());
  kept.keep(variant(2, 7));
  EXPECT_EQ(kept.of(2).size(), 1u);
  EXPECT_TRUE(kept.of(1).empty()) << "nobody asks for what the source knew before";
}

}  // namespace
}  // namespace axrun::tests
