// Products whose last tile of columns is narrow, as machine code.
#include <gtest/gtest.h>

#include <set>

#include "jit/work_count.h"
#include "tests/search/machine_code.h"

namespace axrun::tests {
namespace {

Case case_named(const std::string& name) {
  for (const Case& c : all_cases())
    if (c.name == name) return c;
  ADD_FAILURE() << name;
  return {};
}

/// A last tile of one column is not written by itself: code would hold its sums by lanes and by elements.
TEST(ProductTails, OneColumnMoreThanTiles) { expect_computed(case_named("ProductOfOneColumnMore")); }

TEST(ProductTails, OfAnyColumns) {
  for (const char* name : {"ProductOfAnyColumns", "ProductOfAnyColumnsInPanels", "ProductOfAnyRowsAndColumns",
                           "ProductOfAnySizes", "ProductOfColumnsAndTheirNeighbours"})
    expect_computed(case_named(name));
}

/// Where only a run tells how many columns there are, vectors without any are not computed.
void expect_vectors_that_exist(const std::string& name, int64_t rows, int64_t depth) {
  const Case c = case_named(name);
  for (const jit::Target& target : {avx512_like(), avx2_like()}) {
    const search::Lowered lowered = lowered_case(c, target);
    ASSERT_TRUE(lowered.program) << lowered.reason;
    const int64_t lanes = target.lanes(4);
    for (const int64_t n : {1, 16, 20, 70, 86, 103}) {
      const jit::WorkCount work = jit::count_work(*lowered.program, {{"n", n}}, {true, false}, target);
      EXPECT_EQ(work.multiply_adds, static_cast<double>((n + lanes - 1) / lanes * rows * depth))
          << target.name << ", " << n << " columns\n"
          << ir::loop::print(*lowered.program);
    }
  }
}

TEST(ProductTails, OfAnyColumnsComputeTheVectorsThatExist) {
  expect_vectors_that_exist("ProductOfAnyColumnsInPanels", 40, 12);
  expect_vectors_that_exist("ScheduledAnyColumns", 12, 70);
}

/// Masks are for the last vector of what is read where it lies: the narrowest tile has one.
TEST(ProductTails, OfAnyColumnsAreReadInTilesOfSeveralWidths) {
  const search::Lowered lowered = lowered_case(case_named("ProductOfAnyColumns"), avx512_like());
  ASSERT_TRUE(lowered.program) << lowered.reason;
  const std::string text = ir::loop::print(*lowered.program);
  std::set<std::string> widths;
  for (size_t at = text.find(" in registers"); at != std::string::npos;
       at = text.find(" in registers", at + 1)) {
    const size_t comma = text.rfind(", ", at);
    widths.insert(text.substr(comma + 2, at - comma - 3));
  }
  EXPECT_EQ(widths, (std::set<std::string>{"16", "32", "48"})) << text;
}

/// Where half of a tile is little of all columns, or how many there are is known, one width is enough.
TEST(ProductTails, OfManyColumnsAreOfOneWidth) {
  Case c = case_named("ProductOfAnyColumns");
  for (const search::Sizes& sizes :
       {search::Sizes{{"n", 8192, 16384, 1}}, search::Sizes{{"n", 48, 4080, 48}}}) {
    c.sizes = sizes;
    const search::Lowered lowered = lowered_case(c, avx512_like());
    ASSERT_TRUE(lowered.program) << lowered.reason;
    EXPECT_EQ(ir::loop::print(*lowered.program).find("for jw"), std::string::npos);
  }
}

}  // namespace
}  // namespace axrun::tests
