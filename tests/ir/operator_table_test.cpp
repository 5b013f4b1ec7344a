#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "ir/operator.h"

namespace axrun::ir::test {
namespace {

TEST(OperatorTable, DefinesEveryOperatorOncePerVersion) {
  std::set<std::tuple<std::string_view, std::string_view, int>> seen;
  for (const OperatorEntry& row : all_operators()) {
    EXPECT_TRUE(seen.insert({row.domain, row.name, row.since}).second) << row.name << " " << row.since;
    EXPECT_FALSE(is_graph_operator(row.domain, row.name)) << row.name;
  }
}

TEST(OperatorTable, TheNewestRowNotAboveTheVersionHolds) {
  EXPECT_EQ(find_operator("", "Clip", 10)->since, 1);
  EXPECT_EQ(find_operator("", "Clip", 11)->since, 11);
  EXPECT_EQ(find_operator("", "Clip", 1000)->since, 11);
  EXPECT_EQ(find_operator("", "Mish", 17), nullptr);
  EXPECT_EQ(find_operator("elsewhere", "Clip", 11), nullptr);
}

}  // namespace
}  // namespace axrun::ir::test
