#include "verify/gate_sizes.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ir/text.h"

namespace axrun::verify::test {
namespace {

ir::Program rows_of(int64_t row) {
  const std::string text = std::to_string(row);
  return ir::parse("program P(x: f32[n, " + text + "]) -> (y) {\n  y: f32[n, " + text +
                   "] = map (i: n, j: " + text + ") { x[i, j] }\n}");
}

std::vector<int64_t> values_of(const std::vector<SizeAssignment>& all) {
  std::vector<int64_t> values;
  for (const SizeAssignment& sizes : all) values.push_back(sizes.at("n"));
  return values;
}

std::vector<int64_t> tried(int64_t row, int64_t at_hand, int64_t high = 16384) {
  return values_of(sizes_to_try(rows_of(row), {{"n", 1, high, 1}}, {{"n", at_hand}}).sizes);
}

bool contains(const std::vector<int64_t>& values, int64_t value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

TEST(SizesToTry, LeaveTailsOfEveryKind) {
  const std::vector<int64_t> values = tried(100, 20);
  EXPECT_EQ(values.front(), 20);
  for (const int64_t tail : {1, 3, 7, 9, 15, 16, 37}) EXPECT_TRUE(contains(values, tail)) << tail;
}

TEST(SizesToTry, EveryOneOfSeveralSizesHasTailsOfEveryKindAndEveryBorder) {
  const ir::Program program = ir::parse(
      "program P(x: f32[n, m, k]) -> (y) {\n  y: f32[n, m, k] = map (i: n, j: m, l: k) { x[i, j, l] }\n}");
  const std::vector<SizeAssignment> all =
      sizes_to_try(program, {{"n", 1, 70000, 1}, {"m", 1, 70000, 1}, {"k", 1, 70000, 1}},
                   {{"n", 5}, {"m", 6}, {"k", 9}})
          .sizes;
  int different = 0;
  for (const SizeAssignment& sizes : all) {
    // Thin: of the two others neither is large.
    int large = 0;
    for (const auto& [name, value] : sizes) large += value > 37 ? 1 : 0;
    EXPECT_LE(large, 1);
    different += sizes.at("n") != sizes.at("m") && sizes.at("m") != sizes.at("k") ? 1 : 0;
  }
  EXPECT_GE(different, 4);
  for (const char* name : {"n", "m", "k"}) {
    for (const int64_t wanted :
         {1, 3, 7, 9, 15, 16, 37, 64, 65, 128, 129, 256, 257, 4096, 4097, 65536, 65537}) {
      EXPECT_TRUE(std::any_of(all.begin(), all.end(),
                              [&](const SizeAssignment& one) { return one.at(name) == wanted; }))
          << name << " " << wanted;
    }
  }
}

TEST(SizesToTry, AreFewThatAreTestedInEveryRespect) {
  const SizesToTry all = sizes_to_try(rows_of(3), {{"n", 2, 16384, 1}}, {{"n", 20}});
  ASSERT_EQ(all.thorough, 5u);
  EXPECT_EQ(values_of({all.sizes.begin(), all.sizes.begin() + 5}), (std::vector<int64_t>{20, 2, 7, 16, 37}));
}

TEST(SizesToTry, TakeNoMoreThanAtHandWhereThatIsMuch) {
  const std::vector<int64_t> values = tried(4 << 20, 10);
  EXPECT_EQ(*std::max_element(values.begin(), values.end()), 10);
  for (const int64_t kept : {1, 7}) EXPECT_TRUE(contains(values, kept)) << kept;
}

TEST(SizesToTry, AreAtAndBeyondEveryBorderThatTakesLittle) {
  const std::vector<int64_t> few = tried(3, 20, 70000), many = tried(1000, 20);
  for (const int64_t border : size_borders) {
    EXPECT_TRUE(contains(few, border) && contains(few, border + 1)) << border;
    EXPECT_EQ(contains(many, border + 1), border < 4096) << border;
  }
  EXPECT_TRUE(contains(tried(3, 20, 65536), 65536));
}

TEST(SizesToTry, AreNeverOutsideOfTheRange) {
  const ir::Program program = rows_of(3);
  for (const SizeAssignment& sizes : sizes_to_try(program, {{"n", 8, 120, 8}}, {{"n", 24}}).sizes) {
    EXPECT_GE(sizes.at("n"), 8);
    EXPECT_LE(sizes.at("n"), 120);
    EXPECT_EQ(sizes.at("n") % 8, 0);
  }
  EXPECT_EQ(values_of(sizes_to_try(program, {{"n", 5, 5, 1}}, {{"n", 5}}).sizes), std::vector<int64_t>{5});
  EXPECT_EQ(sizes_to_try(program, {}, {}).sizes, std::vector<SizeAssignment>{{}});
}

TEST(SizesToTry, BeyondWhatWasTestedOnlyTheBordersThatWereNot) {
  TestedSizes tested;
  tested.add({{"n", 257}});
  const std::vector<int64_t> values =
      values_of(sizes_to_try(rows_of(3), {{"n", 1, 70000, 1}}, {{"n", 600}}, tested).sizes);
  EXPECT_EQ(values, (std::vector<int64_t>{600, 4096, 4097, 65536, 65537}));
}

TEST(TestedSizes, ServeTwiceAsMuchAndNoBorderThatWasNotPassed) {
  EXPECT_EQ(served_up_to(1), 2);
  EXPECT_EQ(served_up_to(20), 40);
  EXPECT_EQ(served_up_to(37), 63);
  for (const int64_t border : size_borders) {
    EXPECT_EQ(served_up_to(border - 1), border - 1) << border;
    EXPECT_EQ(served_up_to(border), border);
    EXPECT_GT(served_up_to(border + 1), border + 1);
  }
  EXPECT_EQ(served_up_to(65), 127);
  EXPECT_EQ(served_up_to(257), 514);
  EXPECT_EQ(served_up_to(3000), 4095);
  EXPECT_EQ(served_up_to(65537), 131074);
}

TEST(TestedSizes, ServeAlongEveryAxisAndInTheProductOfAll) {
  TestedSizes tested;
  EXPECT_FALSE(tested.cover({}));
  EXPECT_FALSE(tested.cover({{"n", 1}}));
  tested.add({{"n", 300}, {"m", 7}});
  tested.add({{"n", 9}, {"m", 400}});
  EXPECT_TRUE(tested.cover({{"n", 600}, {"m", 2}}));
  EXPECT_FALSE(tested.cover({{"n", 601}, {"m", 2}}));
  EXPECT_TRUE(tested.cover({{"n", 4}, {"m", 800}}));
  EXPECT_FALSE(tested.cover({{"n", 300}, {"m", 400}}));  // nothing was so large
  EXPECT_FALSE(tested.cover({{"n", 9}, {"other", 1}}));
  TestedSizes fixed;
  fixed.add({});
  EXPECT_TRUE(fixed.cover({}));
}

TEST(TestedSizes, KeepWhatIsTheLargestInSomething) {
  TestedSizes tested;
  tested.add({{"n", 5}, {"m", 6}});
  tested.add({{"n", 4}, {"m", 4}});
  EXPECT_EQ(tested.sizes(), (std::vector<SizeAssignment>{{{"n", 5}, {"m", 6}}}));
  tested.add({{"n", 70}, {"m", 1}});
  tested.add({{"n", 2}, {"m", 90}});
  EXPECT_EQ(tested.sizes().size(), 2u);
  tested.add({{"n", 60}, {"m", 60}});
  EXPECT_EQ(tested.sizes().size(), 3u);
  EXPECT_EQ(tested.largest("n"), 70);
  EXPECT_EQ(tested.largest("m"), 90);
}

}  // namespace
}  // namespace axrun::verify::test
