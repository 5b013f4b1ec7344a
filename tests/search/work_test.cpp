#include "search/work.h"

#include <gtest/gtest.h>

namespace axrun::tests {
namespace {

TEST(Work, BalanceCountsTheTurnsOfTheBusiestCore) {
  EXPECT_DOUBLE_EQ(search::balance(8, 2), 1);
  EXPECT_DOUBLE_EQ(search::balance(3, 2), 0.75);
  EXPECT_DOUBLE_EQ(search::balance(1, 4), 0.25);
}

TEST(Work, BalanceOfPiecesKnowsThatTheLastOneIsShort) {
  EXPECT_DOUBLE_EQ(search::balance_of_pieces(256, 48, 2), 256.0 / 288);  // 3 of 5 whole ones are one core's
  EXPECT_DOUBLE_EQ(search::balance_of_pieces(28, 24, 2), 28.0 / 48);
  EXPECT_DOUBLE_EQ(search::balance_of_pieces(28, 14, 2), 1);
  EXPECT_DOUBLE_EQ(search::balance_of_pieces(100, 48, 2), 100.0 / 104);  // the rest comes after whole turns
  EXPECT_DOUBLE_EQ(search::balance_of_pieces(10, 48, 1), 1);
}

TEST(Work, BalanceOfAnAxisThatMayBeShortIsThatOfItsLeastSize) {
  const search::Sizes sizes = {{"batch", 1, 64, 1}, {"rows", 8, 64, 1}};
  const search::SizeFacts facts(sizes);
  const ir::Dim batch = ir::Dim::symbol("batch"), rows = ir::Dim::symbol("rows");
  EXPECT_DOUBLE_EQ(search::balance_of_axis(facts, batch, 1, 2), 0.5);
  EXPECT_DOUBLE_EQ(search::balance_of_axis(facts, rows, 1, 2), 1);
  EXPECT_DOUBLE_EQ(search::balance_of_axis(facts, rows, 8, 2), 0.5);
  EXPECT_DOUBLE_EQ(search::balance_of_axis(facts, ir::Dim(12) * batch, 1, 2), 1);
  EXPECT_DOUBLE_EQ(search::balance_of_axis(facts, ir::Dim(3), 1, 2), 0.75);
}

TEST(Work, EvenPiecesKeepAllCoresAtWork) {
  EXPECT_EQ(search::even_piece(28, 24, 2), 14);
  EXPECT_EQ(search::even_piece(98, 32, 2), 25);
  EXPECT_EQ(search::even_piece(98, 32, 1), 32);
  EXPECT_EQ(search::even_piece(3, 1, 8), 1);
  for (const int cores : {1, 2, 3, 8}) {
    for (int64_t extent = 1; extent < 60; ++extent) {
      for (int64_t most = 1; most <= extent; ++most) {
        const int64_t piece = search::even_piece(extent, most, cores);
        EXPECT_GE(piece, 1);
        EXPECT_LE(piece, most);
        EXPECT_GE(search::balance_of_pieces(extent, piece, cores),
                  search::balance_of_pieces(extent, most, cores));
      }
    }
  }
}

}  // namespace
}  // namespace axrun::tests
