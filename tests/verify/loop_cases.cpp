#include "tests/verify/loop_cases.h"

#include <stdexcept>

#include "tests/loop/programs.h"

namespace axrun::tests {
namespace {

const char* const copy_expression = R"(program copy(x: f32[n]) -> (y) {
  y: f32[n] = map (i: n) { x[i] }
})";

const char* const copy_program = R"(loops copy(n: 0..100000) {
  input x: f32[n]
  output y: f32[n]
  for i < n { y[i] = x[i] }
})";

const char* const dense_expression = R"(program dense(a: f32[m, k], b: f32[k, n], bias: f32[n]) -> (c) {
  sum: f32[m, n] = reduce sum (i: m, j: n; p: k) { a[i, p] * b[p, j] }
  c: f32[m, n] = map (i: m, j: n) { max(sum[i, j] + bias[j], 0:f32) }
})";

const char* const packed_expression =
    R"(program dense(a: f32[m, 768], b: f32[768, 3072], bias: f32[3072]) -> (c) {
  sum: f32[m, 3072] = reduce sum (i: m, j: 3072; p: 768) { a[i, p] * b[p, j] }
  c: f32[m, 3072] = map (i: m, j: 3072) { sum[i, j] + bias[j] }
})";

// Rows beyond the end are clamped: the inner loops need no tail.
const char* const packed_program = R"(loops product(m: 1..4096) {
  input a: f32[m, 768]
  input b: f32[768, 3072]
  input bias: f32[3072]
  output c: f32[m, 3072]
  allocate b_packed: f32[96, 768, 32] in memory
  parallel jt < 96 { for p < 768 { vector j1 < 32 { b_packed[jt, p, j1] = b[p, 32*jt + j1] } } }
  parallel jt < 96 {
    for it < (m + 11) / 12 {
      allocate tile: f32[12, 32] in registers
      unrolled i1 < 12 { vector j1 < 32 { tile[i1, j1] = 0:f32 } }
      for p < 768 {
        unrolled i1 < 12 {
          vector j1 < 32 {
            tile[i1, j1] += mul(a[min(12*it + i1, m - 1), p], b_packed[jt, p, j1]) computes sum(12*it + i1, 32*jt + j1, p) inverse(x1 / 32, x0 / 12, x2, x0 mod 12, x1 mod 32)
          }
        }
      }
      unrolled i1 < min(12, m - 12*it) {
        vector j1 < 32 {
          c[12*it + i1, 32*jt + j1] = add(tile[i1, j1], bias[32*jt + j1]) computes c(12*it + i1, 32*jt + j1) inverse(x1 / 32, x0 / 12, x0 mod 12, x1 mod 32)
        }
      }
    }
  }
})";

const char* const edges_expression = R"(program edges(a: f32[m, k], b: f32[k, n]) -> (c) {
  c: f32[m, n] = reduce sum (i: m, j: n; p: k) { a[i, p] * b[p, j] }
})";

// All sizes are symbolic: packed columns beyond the end are 0, the loop over k is split.
const char* const edges_program = R"(loops edges(m: 1..64, n: 1..64, k: 4..64 by 4) {
  input a: f32[m, k]
  input b: f32[k, n]
  output c: f32[m, n]
  allocate b_packed: f32[(n + 7) / 8, k, 8] in memory
  parallel jt < (n + 7) / 8 {
    for p < k {
      vector j1 < 8 { b_packed[jt, p, j1] = guarded(b[p, 8*jt + j1], less(index(8*jt + j1), index(n)), 0:f32) }
    }
  }
  parallel it < (m + 3) / 4 {
    for jt < (n + 7) / 8 {
      allocate tile: f32[4, 8] in registers
      unrolled i1 < 4 { vector j1 < 8 { tile[i1, j1] = 0:f32 } }
      for p0 < k / 4 {
        unrolled p1 < 4 {
          unrolled i1 < 4 {
            vector j1 < 8 {
              tile[i1, j1] += mul(b_packed[jt, 4*p0 + p1, j1], a[min(4*it + i1, m - 1), 4*p0 + p1]) computes c(4*it + i1, 8*jt + j1, 4*p0 + p1) inverse(x0 / 4, x1 / 8, x2 / 4, x2 mod 4, x0 mod 4, x1 mod 8)
            }
          }
        }
      }
      unrolled i1 < min(4, m - 4*it) {
        vector j1 < min(8, n - 8*jt) { c[4*it + i1, 8*jt + j1] = tile[i1, j1] }
      }
    }
  }
})";

const char* const transposed_expression = R"(program scores(q: f32[b, h, s, 64], k: f32[b, h, t, 64]) -> (c) {
  sum: f32[b, h, s, t] = reduce sum (b0: b, h0: h, i: s, j: t; d: 64) { q[b0, h0, i, d] * k[b0, h0, j, d] }
  c: f32[b, h, s, t] = map (b0: b, h0: h, i: s, j: t) { 0.125:f32 * sum[b0, h0, i, j] }
})";

// Batched; the second operand is transposed into a panel that every worker has.
const char* const transposed_program = R"(loops scores(b: 1..8, h: 1..16, s: 1..512, t: 1..512) {
  input q: f32[b, h, s, 64]
  input k: f32[b, h, t, 64]
  output c: f32[b, h, s, t]
  parallel b0 < b {
    for h0 < h {
      for jt < (t + 15) / 16 {
        allocate panel: f32[64, 16] in cache
        for d < 64 {
          vector j1 < 16 { panel[d, j1] = guarded(k[b0, h0, 16*jt + j1, d], less(index(16*jt + j1), index(t)), 0:f32) }
        }
        for it < (s + 5) / 6 {
          allocate tile: f32[6, 16] in registers
          unrolled i1 < 6 { vector j1 < 16 { tile[i1, j1] = 0:f32 } }
          for d < 64 {
            unrolled i1 < 6 {
              vector j1 < 16 {
                tile[i1, j1] += mul(q[b0, h0, min(6*it + i1, s - 1), d], panel[d, j1]) computes sum(b0, h0, 6*it + i1, 16*jt + j1, d) inverse(x0, x1, x3 / 16, x2 / 6, x4, x2 mod 6, x3 mod 16)
              }
            }
          }
          unrolled i1 < min(6, s - 6*it) {
            vector j1 < min(16, t - 16*jt) { c[b0, h0, 6*it + i1, 16*jt + j1] = mul(tile[i1, j1], 0.125:f32) }
          }
        }
      }
    }
  }
})";

const char* const chain_expression = R"(program chain(x: f32[r, c], y: f32[c]) -> (z, w) {
  t: f32[r, c] = map (i: r, j: c) { x[i, j] * y[j] }
  z: f32[r, c] = map (i: r, j: c) { 0.5:f32 * t[i, j] * (1:f32 + erf(t[i, j] * 0.70710678:f32)) }
  w: f32[c, r] = map (i: c, j: r) { t[j, i] - y[i] }
})";

const char* const chain_program = R"(loops chain(r: 0..4096, c: 0..4096) {
  input x: f32[r, c]
  input y: f32[c]
  output z: f32[r, c]
  output w: f32[c, r]
  parallel i < r {
    for jt < (c + 63) / 64 {
      vector j1 < min(64, c - 64*jt) {
        z[i, 64*jt + j1] = mul(mul(mul(x[i, 64*jt + j1], y[64*jt + j1]), 0.5:f32), add(erf(mul(mul(x[i, 64*jt + j1], y[64*jt + j1]), 0.70710678:f32)), 1:f32)) computes z(i, 64*jt + j1) inverse(x0, x1 / 64, x1 mod 64)
      }
    }
  }
  parallel jt < (r + 31) / 32 {
    for i < c {
      vector j1 < min(32, r - 32*jt) {
        w[i, 32*jt + j1] = sub(mul(x[32*jt + j1, i], y[i]), y[i]) computes w(i, 32*jt + j1) inverse(x1 / 32, x0, x1 mod 32)
      }
    }
  }
})";

const char* const row_sum_expression = R"(program row_mean(x: f32[r, n]) -> (y) {
  s: f32[r] = reduce sum (i: r; p: n) { x[i, p] }
  y: f32[r] = map (i: r) { s[i] / cast(f32, dim(n)) }
})";

const char* const row_sum_program = R"(loops row_mean(r: 1..1000, n: 0..100000) {
  input x: f32[r, n]
  output y: f32[r]
  parallel i < r {
    allocate acc: f32[16] in registers
    allocate s: f32[] in registers
    vector v < 16 { acc[v] = 0:f32 }
    for t < (n + 15) / 16 {
      vector v < min(16, n - 16*t) { acc[v] += x[i, 16*t + v] computes s(i, 16*t + v) inverse(x0, x1 / 16, x1 mod 16) }
    }
    s[] = 0:f32
    vector w < 16 { s[] += acc[w] }
    y[i] = div(s[], cast:f32(index(n)))
  }
})";

const char* const softmax_expression = R"(program softmax(x: f32[r, n]) -> (y) {
  m: f32[r] = reduce max (i: r; p: n) { x[i, p] }
  s: f32[r] = reduce sum (i: r; p: n) { exp(x[i, p] - m[i]) }
  y: f32[r, n] = map (i: r, j: n) { exp(x[i, j] - m[i]) / s[i] }
})";

// The exponentials are kept.
const char* const softmax_program = R"(loops softmax(r: 1..1000, n: 1..100000) {
  input x: f32[r, n]
  output y: f32[r, n]
  parallel i < r {
    allocate e: f32[n] in cache
    allocate highest: f32[8] in registers
    allocate m: f32[] in registers
    allocate acc: f32[8] in registers
    allocate s: f32[] in registers
    vector v < 8 { highest[v] = -inf:f32 }
    for t < (n + 7) / 8 { vector v < min(8, n - 8*t) { highest[v] max= x[i, 8*t + v] computes m(i, 8*t + v) inverse(x0, x1 / 8, x1 mod 8) } }
    m[] = -inf:f32
    vector w < 8 { m[] max= highest[w] }
    vector v < 8 { acc[v] = 0:f32 }
    for t < (n + 7) / 8 {
      vector v < min(8, n - 8*t) {
        e[8*t + v] = exp(sub(x[i, 8*t + v], m[]))
        acc[v] += e[8*t + v] computes s(i, 8*t + v) inverse(x0, x1 / 8, x1 mod 8)
      }
    }
    s[] = 0:f32
    vector w < 8 { s[] += acc[w] }
    for t < (n + 7) / 8 {
      vector v < min(8, n - 8*t) { y[i, 8*t + v] = div(e[8*t + v], s[]) computes y(i, 8*t + v) inverse(x0, x1 / 8, x1 mod 8) }
    }
  }
})";

const char* const normalization_expression =
    R"(program layer_norm(x: f32[r, 768], scale: f32[768], shift: f32[768]) -> (y) {
  total: f32[r] = reduce sum (i: r; p: 768) { x[i, p] }
  mean: f32[r] = map (i: r) { total[i] / 768:f32 }
  square: f32[r] = reduce sum (i: r; p: 768) { (x[i, p] - mean[i]) * (x[i, p] - mean[i]) }
  y: f32[r, 768] = map (i: r, j: 768) {
    (x[i, j] - mean[i]) / sqrt(square[i] / 768:f32 + 1e-05:f32) * scale[j] + shift[j]
  }
})";

const char* const normalization_program = R"(loops layer_norm(r: 0..100000) {
  input x: f32[r, 768]
  input scale: f32[768]
  input shift: f32[768]
  output y: f32[r, 768]
  parallel i < r {
    allocate acc: f32[32] in registers
    allocate total: f32[] in registers
    allocate mean: f32[] in registers
    allocate square: f32[] in registers
    allocate d: f32[768] in cache
    vector v < 32 { acc[v] = 0:f32 }
    for t < 24 { vector v < 32 { acc[v] += x[i, 32*t + v] } }
    total[] = 0:f32
    vector w < 32 { total[] += acc[w] }
    mean[] = div(total[], 768:f32)
    vector v < 32 { acc[v] = 0:f32 }
    for t < 24 {
      vector v < 32 {
        d[32*t + v] = sub(x[i, 32*t + v], mean[])
        acc[v] += mul(d[32*t + v], d[32*t + v])
      }
    }
    square[] = 0:f32
    vector w < 32 { square[] += acc[w] }
    for t < 24 {
      vector v < 32 {
        y[i, 32*t + v] = add(mul(div(d[32*t + v], sqrt(add(div(square[], 768:f32), 1e-05:f32))), scale[32*t + v]), shift[32*t + v]) computes y(i, 32*t + v) inverse(x0, x1 / 32, x1 mod 32)
      }
    }
  }
})";

const char* const window_expression = R"(program moving_sum(x: i32[n]) -> (y) {
  s: i32[n] = reduce sum (i: n; w: 3) { x[i + w - 1; i + w >= 1 and i + w <= dim(n); 0:i32] }
  y: f64[n] = map (i: n) { cast(f64, s[i]) }
})";

const char* const maximum_expression = R"(program pool(x: f32[c, h]) -> (y) {
  y: f32[c, h / 2] = reduce max (i: c, j: h / 2; w: 2) { x[i, 2 * j + w] }
})";

// A maximum that starts at the first element.
const char* const maximum_program = R"(loops pool(c: 1..100, h: 2..1000 by 2) {
  input x: f32[c, h]
  output y: f32[c, h / 2]
  parallel i < c {
    for j < h / 2 {
      y[i, j] = x[i, 2*j]
      unrolled w < 1 { y[i, j] max= x[i, 2*j + w + 1] }
    }
  }
})";

const char* const joined_expression = R"(program joined(x: f32[n, 8], y: f32[m, 8], w: f32[n + m]) -> (z) {
  h: f32[m, 8] = map (i: m, j: 8) { exp(y[i, j]) }
  t: f32[n + m, 8] = map (i: n + m, j: 8) { select(i < dim(n), x[i, j; i < dim(n); 0:f32], h[i - dim(n), j; i >= dim(n); 0:f32]) }
  z: f32[8] = reduce sum (j: 8; p: n + m) { w[p] * t[p, j] }
})";

// Two tensors joined in memory by a statement each, then reduced over both.
const char* const joined_program = R"(loops joined(n: 1..99, m: 0..99) {
  input x: f32[n, 8]
  input y: f32[m, 8]
  input w: f32[n + m]
  output z: f32[8]
  allocate h: f32[m, 8] in memory
  allocate t: f32[n + m, 8] in memory
  for i < m { vector v < 8 { h[i, v] = exp(y[i, v]) } }
  for i < n { vector v < 8 { t[i, v] = x[i, v] } }
  for i < m { vector v < 8 { t[i + n, v] = h[i, v] } }
  vector v < 8 { z[v] = 0:f32 }
  for p < n + m { vector v < 8 { z[v] += mul(t[p, v], w[p]) } }
})";

const char* const squares_expression = R"(program squares(x: f32[n, m], b: f32[n]) -> (y) {
  y: f32[m, n] = map (i: m, j: n) { exp(x[j, i]) + b[j] }
})";

// A transposition through squares in registers that are written by rows and read by columns.
const char* const squares_program = R"(loops squares(n: 1..4096, m: 1..4096) {
  input x: f32[n, m]
  input b: f32[n]
  output y: f32[m, n]
  parallel t < (m + 7) / 8 {
    for u < (n + 7) / 8 {
      allocate square: f32[8, 8] in registers
      unrolled r < min(8, n - 8*u) {
        vector v < min(8, m - 8*t) { square[r, v] = exp(x[8*u + r, 8*t + v]) }
      }
      unrolled c < min(8, m - 8*t) {
        vector w < min(8, n - 8*u) {
          y[8*t + c, 8*u + w] = add(square[w, c], b[8*u + w]) computes y(8*t + c, 8*u + w) inverse(x0 / 8, x1 / 8, x0 mod 8, x1 mod 8)
        }
      }
    }
  }
})";

// The reduction's only term is a product itself.
const char* const single_expression = R"(program single(x: f32[n, 1]) -> (y) {
  s: f32[n] = reduce product (i: n; p: 1) { x[i, p] * x[i, p] }
  y: f32[n] = map (i: n) { s[i] * 3:f32 }
})";

const char* const single_program = R"(loops single(n: 1..64) {
  input x: f32[n, 1]
  output y: f32[n]
  for i < n {
    allocate s: f32[] in registers
    s[] = 1:f32
    for p < 1 {
      vector v < -8*p + 1 { s[] *= mul(x[i, 8*p + v], x[i, 8*p + v]) }
    }
    y[i] = mul(s[], 3:f32)
  }
})";

}  // namespace

const std::vector<LoopCase>& loop_cases() {
  static const std::vector<LoopCase> cases = {
      {"copy", copy_expression, copy_program},
      {"dense", dense_expression, product_text},
      {"packed", packed_expression, packed_program},
      {"edges", edges_expression, edges_program},
      {"transposed", transposed_expression, transposed_program},
      {"chain", chain_expression, chain_program},
      {"row_sum", row_sum_expression, row_sum_program},
      {"softmax", softmax_expression, softmax_program},
      {"normalization", normalization_expression, normalization_program},
      {"window", window_expression, window_text},
      {"maximum", maximum_expression, maximum_program},
      {"joined", joined_expression, joined_program},
      {"squares", squares_expression, squares_program},
      {"single", single_expression, single_program},
  };
  return cases;
}

const LoopCase& loop_case(const std::string& name) {
  for (const LoopCase& found : loop_cases()) {
    if (found.name == name) return found;
  }
  throw std::out_of_range(name);
}

}  // namespace axrun::tests
