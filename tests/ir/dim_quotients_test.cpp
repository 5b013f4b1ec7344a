#include "ir/dim_quotients.h"

#include <gtest/gtest.h>

namespace axrun::ir {
namespace {

const Dim n = Dim::symbol("n"), m = Dim::symbol("m");

TEST(DimQuotients, AreFoundOutsideOfOthers) {
  EXPECT_TRUE(quotients_in(n * m + 3).empty());
  EXPECT_TRUE(quotients_in(floor_div(n, m)).empty()) << "the divisor is not a number";
  const std::vector<Quotient> found = quotients_in(floor_div(n, 2) * m + max(floor_div(m + 1, 3), n));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].whole(), floor_div(n, 2));
  EXPECT_EQ(found[1].whole(), floor_div(m + 1, 3));
  EXPECT_EQ(quotients_in(floor_div(n * floor_div(m, 2), 5)).size(), 1u);
}

TEST(DimQuotients, AreReplacedWhereverTheyStand) {
  const auto halves = [](const Quotient& quotient) -> std::optional<Dim> {
    if (quotient.divisor != 2) return std::nullopt;
    return Dim::symbol("half") + quotient.dividend * 0;
  };
  const Dim half = Dim::symbol("half");
  EXPECT_EQ(with_quotients(floor_div(n, 2) * m + 1, halves), half * m + 1);
  EXPECT_EQ(with_quotients(floor_div(m * floor_div(n, 2), 3), halves), floor_div(m * half, 3));
  EXPECT_EQ(with_quotients(min(floor_div(n, 2), m) + floor_mod(floor_div(n, 2), 5), halves),
            min(half, m) + floor_mod(half, 5));
  EXPECT_EQ(with_quotients(floor_div(n, 3) + n, halves), floor_div(n, 3) + n);
  EXPECT_EQ(with_quotients(7, halves), Dim(7));
}

}  // namespace
}  // namespace axrun::ir
