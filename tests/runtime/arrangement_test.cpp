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

}  // namespace
}  // namespace axrun::tests
