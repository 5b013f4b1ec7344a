// Products whose last tile of columns is narrow, as machine code.
#include <gtest/gtest.h>

#include "tests/search/machine_code.h"

namespace axrun::tests {
namespace {

/// A last tile of one column is not written by itself: code would hold its sums by lanes and by elements.
TEST(ProductTails, OneColumnMoreThanTiles) {
  int found = 0;
  for (const Case& c : all_cases()) {
    if (c.name != "ProductOfOneColumnMore") continue;
    ++found;
    expect_computed(c);
  }
  EXPECT_EQ(found, 1);
}

}  // namespace
}  // namespace axrun::tests
