#pragma once

#include <string>

namespace axrun::tests {

/// C = A B + bias, then relu: packed B, register tile of 6 x 16, rows in parallel, tails by shorter loops.
inline const std::string product_text = R"(loops product(m: 1..64, n: 1..64, k: 1..64) {
  input a: f32[m, k]
  input b: f32[k, n]
  input bias: f32[n]
  output c: f32[m, n]
  for j0 step 16 < n {
    allocate panel: f32[k, 16] in cache
    for q < k {
      vector r < min(16, n - j0) {
        panel[q, r] = b[q, j0 + r]
      }
    }
    parallel i0 step 6 < m {
      allocate tile: f32[6, 16] in registers
      unrolled i1 < min(6, m - i0) {
        vector j1 < min(16, n - j0) {
          tile[i1, j1] = 0:f32
        }
      }
      for p < k {
        unrolled i1 < min(6, m - i0) {
          vector j1 < min(16, n - j0) {
            tile[i1, j1] += mul(a[i0 + i1, p], panel[p, j1]) computes sum(i0 + i1, j0 + j1, p) inverse(16*(x1 / 16), 6*(x0 / 6), x2, x0 mod 6, x1 mod 16)
          }
        }
      }
      unrolled i1 < min(6, m - i0) {
        vector j1 < min(16, n - j0) {
          c[i0 + i1, j0 + j1] = max(add(tile[i1, j1], bias[j0 + j1]), 0:f32) computes c(i0 + i1, j0 + j1) inverse(16*(x1 / 16), 6*(x0 / 6), x0 mod 6, x1 mod 16)
        }
      }
    }
  }
}
)";

/// Padded moving sum along a row: a guarded load, integers, a cast.
inline const std::string window_text = R"(loops window(n: 0..100) {
  input x: i32[n]
  output y: f64[n]
  for i < n {
    allocate sum: i32[] in registers
    sum[] = 0:i32
    for w < 3 {
      sum[] += guarded(x[i + w - 1], logical_and(greater_equal(index(i + w), 1:i64), less_equal(index(i + w), index(n))), 0:i32)
    }
    y[i] = cast:f64(sum[])
  }
}
)";

}  // namespace axrun::tests
