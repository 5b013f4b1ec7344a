// Vectors times matrices that come from far: read in one sequence, or in several side by side.
#include <gtest/gtest.h>

#include "ir/text.h"
#include "tests/search/machine_code.h"
#include "verify/loop_proof.h"

namespace axrun::tests {
namespace {

Case product_from_far(int64_t rows) {
  const std::string m = std::to_string(rows);
  const std::string text = "program product(a: f32[" + m + ", 512], b: f32[512, 1203]) -> (c) {\n" +
                           "  c: f32[" + m + ", 1203] = reduce sum (i0: " + m +
                           ", i1: 1203; r0: 512) { a[i0, r0] * b[r0, i1] }\n}\n";
  Case c{"ProductFromFar", "contraction", [=] { return ir::parse(text); }, {}, {false, true}};
  c.caches = {{int64_t{32} << 10}, {int64_t{1} << 20}};
  return c;
}

TEST(VectorProducts, AreReadEitherWay) {
  for (const int64_t rows : {1, 2}) {
    Case c = product_from_far(rows);
    for (const jit::Target& target : {avx512_like(), avx2_like()}) {
      std::string schedules[2];
      for (c.rank = 0; c.rank < 2; ++c.rank) {
        const search::Lowered lowered = lowered_case(c, target);
        ASSERT_TRUE(lowered.program) << lowered.reason;
        EXPECT_GE(lowered.alternatives, 1);
        schedules[c.rank] = lowered.schedule.text;
        const verify::Evidence evidence = verify::prove(*lowered.program, lowered.expression);
        EXPECT_EQ(evidence.verdict, verify::Verdict::proved) << evidence.text;
      }
      EXPECT_EQ(schedules[0], "default");
      EXPECT_EQ(schedules[1], target.vector_bytes < 64 ? "read in one sequence" : "read side by side");
    }
    for (c.rank = 0; c.rank < 2; ++c.rank) expect_computed(c);
  }
}

/// Of three rows on, their own order decides.
TEST(VectorProducts, OfMoreRowsAreNot) {
  Case c = product_from_far(3);
  c.rank = 1;
  for (const jit::Target& target : {avx512_like(), avx2_like()}) {
    const search::Lowered lowered = lowered_case(c, target);
    EXPECT_NE(lowered.schedule.text.substr(0, 5), "read ") << lowered.schedule.text;
  }
}

/// One row leaves nothing but columns to spread.
TEST(VectorProducts, OfBytesAreSpreadOverColumns) {
  const std::string text =
      "program product(x: u8[1, 1536], w: i8[1536, 1003]) -> (s) {\n"
      "  s: i32[1, 1003] = reduce sum (i0: 1, i1: 1003; r0: 1536) "
      "{ cast(i32, x[i0, r0]) * cast(i32, w[r0, i1]) }\n}\n";
  const Case c{"RowOfBytes", "integer product", [=] { return ir::parse(text); }, {}, {false, true}};
  for (int cores : {1, 4}) {
    jit::Target target = avx2_like();
    target.cores = cores;
    const search::Lowered lowered = lowered_case(c, target);
    ASSERT_TRUE(lowered.program) << lowered.reason;
    EXPECT_EQ(ir::loop::print(*lowered.program).find("parallel jt") != std::string::npos, cores > 1)
        << ir::loop::print(*lowered.program);
    const verify::Evidence evidence = verify::prove(*lowered.program, lowered.expression);
    EXPECT_EQ(evidence.verdict, verify::Verdict::proved) << evidence.text;
  }
  expect_computed(c);
}

}  // namespace
}  // namespace axrun::tests
