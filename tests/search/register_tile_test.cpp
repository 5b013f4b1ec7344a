#include "search/register_tile.h"

#include <gtest/gtest.h>

#include "tests/search/cases.h"

namespace axrun::tests {
namespace {

std::string tile(int64_t rows, int64_t columns, const jit::Target& target) {
  const search::RegisterTile tile = search::register_tile(rows, columns, target);
  return std::to_string(tile.rows) + "x" + std::to_string(tile.columns);
}

TEST(RegisterTile, FillsTheRegisters) {
  EXPECT_EQ(tile(128, 768, avx512_like()), "8x48");
  EXPECT_EQ(tile(1024, 1024, avx512_like()), "6x64");
  EXPECT_EQ(tile(1024, 1024, avx2_like()), "4x24");
}

TEST(RegisterTile, FitsSmallProducts) {
  EXPECT_EQ(tile(1, 64, avx512_like()), "1x64");
  EXPECT_EQ(tile(3, 16, avx512_like()), "3x16");
  EXPECT_EQ(tile(4, 10, avx512_like()), "4x16");
}

TEST(RegisterTile, NeverTakesMoreRegistersThanThereAre) {
  for (const jit::Target& target : {avx512_like(), avx2_like()}) {
    for (const int64_t rows : {1, 2, 5, 7, 12, 100, 1000}) {
      for (const int64_t columns : {1, 8, 17, 100, 1000}) {
        const search::RegisterTile tile = search::register_tile(rows, columns, target);
        const int64_t vectors = tile.columns / target.lanes(4);
        EXPECT_EQ(tile.columns % target.lanes(4), 0);
        EXPECT_LE(tile.rows, rows);
        EXPECT_LT(tile.rows * vectors + vectors, target.vector_registers);
      }
    }
  }
}

}  // namespace
}  // namespace axrun::tests
