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

StepShelf::Lot lot(int open) {
  auto made = std::make_shared<StepShelf::Made>();
  made->open = open;
  return {made, nullptr};
}

TEST(StepShelf, FindsWhatWasMadeForTheSameSizesOfTheSameSource) {
  StepShelf shelf;
  shelf.resize(2);
  EXPECT_EQ(shelf.find(0, {{7}, 1}), nullptr);
  shelf.keep(0, {{7}, 1}, lot(1));
  shelf.keep(1, {{7}, 1}, lot(2));
  shelf.keep(0, {{8}, 1}, lot(3));
  ASSERT_NE(shelf.find(0, {{7}, 1}), nullptr);
  EXPECT_EQ((*shelf.find(0, {{7}, 1}))[0]->open, 1);
  EXPECT_EQ((*shelf.find(0, {{8}, 1}))[0]->open, 3);
  EXPECT_EQ((*shelf.find(1, {{7}, 1}))[0]->open, 2);
  EXPECT_EQ(shelf.find(0, {{7}, 2}), nullptr);
  shelf.keep(0, {{9}, 2}, lot(4));
  EXPECT_EQ(shelf.find(0, {{7}, 1}), nullptr) << "of what the source knew before";
}

TEST(StepShelf, StopsKeepingForSizesThatDoNotComeAgain) {
  StepShelf shelf;
  shelf.resize(1);
  int wanted = 0;
  for (int64_t size = 0; size < 100; ++size) {
    EXPECT_EQ(shelf.find(0, {{size}, 1}), nullptr);
    if (!shelf.wants(0)) continue;
    ++wanted;
    shelf.keep(0, {{size}, 1}, lot(0));
  }
  EXPECT_LT(wanted, 25);
  EXPECT_GT(wanted, 16);
  ASSERT_NE(shelf.find(0, {{95}, 1}), nullptr);
  EXPECT_TRUE(shelf.wants(0)) << "one has come again";
}

}  // namespace
}  // namespace axrun::tests
