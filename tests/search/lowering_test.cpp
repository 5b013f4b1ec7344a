#include "search/lowering.h"

#include <gtest/gtest.h>

#include "ir/grammar.h"
#include "ir/loop/interpreter.h"
#include "ir/text.h"
#include "tests/search/cases.h"

namespace axrun::tests {
namespace {

class EveryCase : public testing::TestWithParam<Case> {};

/// The lowered program is right wherever it is tried: on small integers it agrees with the expression
/// exactly where the expression has no rounding, and within the noise of f32 elsewhere.
TEST_P(EveryCase, AgreesWithTheExpression) {
  const Case& c = GetParam();
  const ir::Program expression = c.make();
  ir::require_valid(expression);
  for (const jit::Target& target : {avx512_like(), avx2_like()}) {
    const search::Lowered lowered = lowered_case(c, target);
    ASSERT_TRUE(lowered.program) << lowered.reason;
    EXPECT_EQ(lowered.kind, c.kind) << ir::print(lowered.expression);
    EXPECT_EQ(ir::violations(lowered.expression).size(), 0u);
    for (const auto& sizes : c.values) {
      const std::string wrong = difference(expression, lowered, sizes, 7);
      EXPECT_EQ(wrong, "") << target.name << '\n'
                           << ir::print(lowered.expression) << ir::loop::print(*lowered.program);
      if (!wrong.empty()) return;
    }
  }
}

/// Where the last tile of a line would wait for its multiply-adds, those of a few lines are one.
TEST(Lowering, NarrowEndsOfLinesAreTogether) {
  jit::Target target = avx2_like();
  target.caches[1].bytes = int64_t{512} << 10;
  target.cores = 1;
  size_t seen = 0;
  for (const Case& c : all_cases()) {
    if (c.name.find("NarrowEnds") == std::string::npos) continue;
    ++seen;
    bool together = false;
    for (Case tried = c; tried.rank < 4; ++tried.rank) {
      const search::Lowered lowered = lowered_case(tried, target);
      if (!lowered.program) break;
      if (ir::loop::print(*lowered.program).find("unrolled lt < ") == std::string::npos) continue;
      together = true;
      for (const auto& sizes : c.values) EXPECT_EQ(difference(c.make(), lowered, sizes, 7), "") << c.name;
    }
    EXPECT_TRUE(together) << c.name;
  }
  EXPECT_EQ(seen, 2u);
}

/// One product in full, as a reader would write it.
TEST(Lowering, AProductIsWrittenInTiles) {
  const search::Lowered lowered =
      search::lower(any_rows_product(), {{"m", 1, 4096, 1}}, {false, true, true}, avx512_like());
  ASSERT_TRUE(lowered.program) << lowered.reason;
  EXPECT_EQ(ir::loop::print(*lowered.program), R"(loops product(m: 1..4096) {
  input a: f32[m, 768]
  input b: f32[768, 3072]
  input bias: f32[3072]
  output c: f32[m, 3072]
  allocate packed_sum: f32[64, 768, 48] in memory
  parallel jt < 64 {
    for p0 < 768 {
      vector j1 < 48 {
        packed_sum[jt, p0, j1] = b[p0, j1 + 48*jt]
      }
    }
  }
  parallel jt < 64 {
    for it < m / 8 {
      allocate tile_sum: f32[8, 48] in registers
      unrolled i1 < 8 {
        vector j1 < 48 {
          tile_sum[i1, j1] = 0:f32
        }
      }
      for p0 < 192 {
        unrolled u < 4 {
          unrolled i1 < 8 {
            vector j1 < 48 {
              tile_sum[i1, j1] += mul(a[i1 + 8*it, 4*p0 + u], packed_sum[jt, 4*p0 + u, j1]) computes sum(i1 + 8*it, j1 + 48*jt, 4*p0 + u) inverse(x1 / 48, x0 / 8, x2 / 4, x2 mod 4, x0 mod 8, x1 mod 48)
            }
          }
        }
      }
      unrolled i1 < 8 {
        vector j1 < 48 {
          c[i1 + 8*it, j1 + 48*jt] = max(add(tile_sum[i1, j1], bias[j1 + 48*jt]), 0:f32) computes c(i1 + 8*it, j1 + 48*jt) inverse(x1 / 48, x0 / 8, x0 mod 8, x1 mod 48)
        }
      }
    }
    for it < (m mod 8 + 2) / 9 {
      allocate tile_sum_2: f32[8, 48] in registers
      unrolled i1 < 8 {
        vector j1 < 48 {
          tile_sum_2[i1, j1] = 0:f32
        }
      }
      for p0 < 192 {
        unrolled u < 4 {
          unrolled i1 < 8 {
            vector j1 < 48 {
              tile_sum_2[i1, j1] += mul(a[min(i1 + 9*it + 8*(m / 8), m - 1), 4*p0 + u], packed_sum[jt, 4*p0 + u, j1]) computes sum(i1 + 9*it + 8*(m / 8), j1 + 48*jt, 4*p0 + u) inverse(x1 / 48, -(m / 8) + (x0 + m / 8) / 9, x2 / 4, x2 mod 4, (x0 + m / 8) mod 9, x1 mod 48)
            }
          }
        }
      }
      unrolled i1 < -9*it + m mod 8 {
        vector j1 < 48 {
          c[i1 + 9*it + 8*(m / 8), j1 + 48*jt] = max(add(tile_sum_2[i1, j1], bias[j1 + 48*jt]), 0:f32) computes c(i1 + 9*it + 8*(m / 8), j1 + 48*jt) inverse(x1 / 48, -(m / 8) + (x0 + m / 8) / 9, (x0 + m / 8) mod 9, x1 mod 48)
        }
      }
    }
    for it < (m mod 8 + 2) / 6 - (m mod 8 + 2) / 9 {
      allocate tile_sum_3: f32[6, 48] in registers
      unrolled i1 < 6 {
        vector j1 < 48 {
          tile_sum_3[i1, j1] = 0:f32
        }
      }
      for p0 < 192 {
        unrolled u < 4 {
          unrolled i1 < 6 {
            vector j1 < 48 {
              tile_sum_3[i1, j1] += mul(a[min(i1 + 6*it + 8*(m / 8), m - 1), 4*p0 + u], packed_sum[jt, 4*p0 + u, j1]) computes sum(i1 + 6*it + 8*(m / 8), j1 + 48*jt, 4*p0 + u) inverse(x1 / 48, -2*(m / 8) + (x0 + 4*(m / 8)) / 6, x2 / 4, x2 mod 4, (x0 + 4*(m / 8)) mod 6, x1 mod 48)
            }
          }
        }
      }
      unrolled i1 < min(-6*it + m mod 8, 6) {
        vector j1 < 48 {
          c[i1 + 6*it + 8*(m / 8), j1 + 48*jt] = max(add(tile_sum_3[i1, j1], bias[j1 + 48*jt]), 0:f32) computes c(i1 + 6*it + 8*(m / 8), j1 + 48*jt) inverse(x1 / 48, -2*(m / 8) + (x0 + 4*(m / 8)) / 6, (x0 + 4*(m / 8)) mod 6, x1 mod 48)
        }
      }
    }
    for it < (m mod 8 + 2) / 3 - 2*((m mod 8 + 2) / 6) - (m mod 8 + 2) / 9 {
      allocate tile_sum_4: f32[3, 48] in registers
      unrolled i1 < 3 {
        vector j1 < 48 {
          tile_sum_4[i1, j1] = 0:f32
        }
      }
      for p0 < 192 {
        unrolled u < 4 {
          unrolled i1 < 3 {
            vector j1 < 48 {
              tile_sum_4[i1, j1] += mul(a[min(i1 + 3*it + 8*(m / 8), m - 1), 4*p0 + u], packed_sum[jt, 4*p0 + u, j1]) computes sum(i1 + 3*it + 8*(m / 8), j1 + 48*jt, 4*p0 + u) inverse(x1 / 48, -3*(m / 8) + (x0 + m / 8) / 3, x2 / 4, x2 mod 4, (x0 + m / 8) mod 3, x1 mod 48)
            }
          }
        }
      }
      unrolled i1 < min(-3*it + m mod 8, 3) {
        vector j1 < 48 {
          c[i1 + 3*it + 8*(m / 8), j1 + 48*jt] = max(add(tile_sum_4[i1, j1], bias[j1 + 48*jt]), 0:f32) computes c(i1 + 3*it + 8*(m / 8), j1 + 48*jt) inverse(x1 / 48, -3*(m / 8) + (x0 + m / 8) / 3, (x0 + m / 8) mod 3, x1 mod 48)
        }
      }
    }
  }
}
)");
}

INSTANTIATE_TEST_SUITE_P(Lowering, EveryCase, testing::ValuesIn(all_cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace axrun::tests
