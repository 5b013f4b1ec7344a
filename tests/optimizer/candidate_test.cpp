#include "runtime/optimizer/candidate.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ir/text.h"

namespace axrun::tests {
namespace {

using namespace runtime;

std::vector<int64_t> sizes_of(int64_t row, int64_t at_hand) {
  const std::string row_text = std::to_string(row);
  const ir::Program program = ir::parse("program P(x: f32[n, " + row_text + "]) -> (y) {\n  y: f32[n, " +
                                        row_text + "] = map (i: n, j: " + row_text + ") { x[i, j] }\n}");
  std::vector<int64_t> values;
  for (const SizeValues& sizes : sizes_to_test(program, {{"n", 1, 4096, 1}}, {{"n", at_hand}}))
    values.push_back(sizes.at("n"));
  return values;
}

TEST(SizesToTest, LeaveTailsOfEveryKind) {
  const std::vector<int64_t> values = sizes_of(100, 20);
  EXPECT_EQ(values.front(), 20);
  for (const int64_t tail : {1, 7, 16, 37}) EXPECT_NE(std::count(values.begin(), values.end(), tail), 0);
}

TEST(SizesToTest, EveryOneOfSeveralSizesHasTailsOfEveryKind) {
  const ir::Program program = ir::parse(
      "program P(x: f32[n, m, k]) -> (y) {\n  y: f32[n, m, k] = map (i: n, j: m, l: k) { x[i, j, l] }\n}");
  const std::vector<SizeValues> all = sizes_to_test(
      program, {{"n", 1, 4096, 1}, {"m", 1, 4096, 1}, {"k", 1, 4096, 1}}, {{"n", 5}, {"m", 6}, {"k", 9}});
  ASSERT_EQ(all.size(), 6u);
  int different = 0;
  for (const SizeValues& sizes : all) {
    EXPECT_LE(sizes.at("n") * sizes.at("m"), 60);
    different += sizes.at("n") != sizes.at("m") && sizes.at("m") != sizes.at("k") ? 1 : 0;
  }
  EXPECT_GE(different, 4);
  for (const char* name : {"n", "m", "k"}) {
    for (const int64_t tail : {1, 7, 16, 37}) {
      EXPECT_TRUE(
          std::any_of(all.begin(), all.end(), [&](const SizeValues& one) { return one.at(name) == tail; }))
          << name << " " << tail;
    }
  }
}

TEST(SizesToTest, TakeNoMoreThanAtHandWhereThatIsMuch) {
  const std::vector<int64_t> values = sizes_of(4 << 20, 10);
  EXPECT_EQ(*std::max_element(values.begin(), values.end()), 10);
  for (const int64_t kept : {1, 7}) EXPECT_NE(std::count(values.begin(), values.end(), kept), 0);
}

}  // namespace
}  // namespace axrun::tests
