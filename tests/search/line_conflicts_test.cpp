#include "search/line_conflicts.h"

#include <gtest/gtest.h>

namespace axrun::tests {
namespace {

jit::Target with_cache(int64_t bytes) {
  jit::Target target;
  target.caches = {{.bytes = bytes}};
  return target;
}

TEST(LineConflicts, rows_a_page_apart_share_their_sets) {
  const jit::Target target = with_cache(48 << 10);  // twelve ways
  EXPECT_FALSE(search::rows_conflict(48, 256, 4096, target));
  EXPECT_TRUE(search::rows_conflict(49, 256, 4096, target));
  EXPECT_TRUE(search::rows_conflict(49, 256, 9 * 4096, target));
  EXPECT_FALSE(search::rows_conflict(96, 256, 2048, target));
  EXPECT_TRUE(search::rows_conflict(97, 256, 2048, target));
}

TEST(LineConflicts, other_strides_fill_all_sets_alike) {
  const jit::Target target = with_cache(48 << 10);
  EXPECT_FALSE(search::rows_conflict(1000, 256, 4096 + 4, target));
  EXPECT_FALSE(search::rows_conflict(1000, 256, 4096 + 512, target));
  EXPECT_FALSE(search::rows_conflict(1000, 256, 512, target));
}

TEST(LineConflicts, lines_pages_apart_fill_the_sets_that_they_reach) {
  const jit::Target target = with_cache(32 << 10);  // eight ways
  EXPECT_FALSE(search::lines_conflict(8, 4096, target));
  EXPECT_TRUE(search::lines_conflict(9, 4096, target));
  EXPECT_FALSE(search::lines_conflict(128, 56 * 56 * 4, target));
  EXPECT_TRUE(search::lines_conflict(129, 56 * 56 * 4, target));
  EXPECT_FALSE(search::lines_conflict(512, 4096 + 64, target));
  EXPECT_TRUE(search::lines_conflict(513, 4096 + 64, target));
  EXPECT_FALSE(search::lines_conflict(1000, 2048, target)) << "rows of a page come in sequence";
  EXPECT_FALSE(search::lines_conflict(1000, 4096, jit::Target()));
}

TEST(LineConflicts, nothing_is_said_of_unknown_strides_and_caches) {
  EXPECT_FALSE(search::rows_conflict(1000, 256, 0, with_cache(48 << 10)));
  EXPECT_FALSE(search::rows_conflict(1000, 256, 4096, jit::Target()));
}

}  // namespace
}  // namespace axrun::tests
