#pragma once

#include <string>

namespace axrun::tests {

/// Products with a softmax of any scores.
inline const std::string given_scores = R"(program f(s: f32[r, n], v: f32[n, d]) -> (y) {
  top: f32[r] = reduce max (i: r; p: n) { s[i, p] }
  power: f32[r, n] = map (i: r, p: n) { exp(s[i, p] - top[i]) }
  total: f32[r] = reduce sum (i: r; p: n) { power[i, p] }
  share: f32[r, n] = map (i: r, p: n) { power[i, p] / total[i] }
  y: f32[r, d] = reduce sum (i: r, j: d; p: n) { share[i, p] * v[p, j] }
})";

/// One row at a time, eight scores at a time; probabilities are what they are of the scores so far.
inline const std::string online_softmax = R"(loops f(r: 1..9, n: 1..4096, d: 1..64) {
  input s: f32[r, n]
  input v: f32[n, d]
  output y: f32[r, d]
  for i < r {
    allocate m: f32[] in registers
    allocate l: f32[] in registers
    allocate o: f32[d] in cache
    m[] = -3.4028234663852886e38:f32
    l[] = 0:f32
    for z < d { o[z] = 0:f32 }
    for t < (n + 7) / 8 {
      allocate old: f32[] in registers
      allocate e: f32[] in registers
      allocate before: f32[] in registers
      allocate inv: f32[] in registers
      allocate w: f32[] in registers
      allocate q: f32[8] in cache
      old[] = m[]
      for c < min(8, n - 8*t) { m[] max= s[i, 8*t + c] }
      e[] = exp(sub(old[], m[]))
      before[] = mul(max(l[], 1:f32), e[])
      l[] *= e[]
      for c < min(8, n - 8*t) {
        q[c] = exp(sub(s[i, 8*t + c], m[]))
        l[] += q[c]
      }
      inv[] = div(1:f32, max(l[], 1:f32))
      w[] = mul(before[], inv[])
      for c < min(8, n - 8*t) { q[c] *= inv[] }
      for z < d {
        o[z] *= w[]
        for c < min(8, n - 8*t) { o[z] += mul(q[c], v[8*t + c, z]) }
      }
    }
    for z < d { y[i, z] = mul(o[z], div(max(l[], 1:f32), l[])) }
  }
})";

}  // namespace axrun::tests
