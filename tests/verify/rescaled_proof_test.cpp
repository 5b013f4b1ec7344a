// Softmax and products with it over tiles, rescaled whenever the maximum grows: right ones, and what is
// wrong.
#include <gtest/gtest.h>

#include "ir/text.h"
#include "verify/loop_proof.h"

namespace axrun::tests {
namespace {

using verify::Verdict;

/// Of any scores, and of products of queries and keys.
const std::string given_scores = R"(program f(s: f32[r, n], v: f32[n, d]) -> (y) {
  top: f32[r] = reduce max (i: r; p: n) { s[i, p] }
  power: f32[r, n] = map (i: r, p: n) { exp(s[i, p] - top[i]) }
  total: f32[r] = reduce sum (i: r; p: n) { power[i, p] }
  share: f32[r, n] = map (i: r, p: n) { power[i, p] / total[i] }
  y: f32[r, d] = reduce sum (i: r, j: d; p: n) { share[i, p] * v[p, j] }
})";

const std::string interface =
    "loops f(r: 1..9, n: 1..4096, d: 1..64) {\n input s: f32[r, n]\n input v: f32[n, d]\n output y: f32[r, "
    "d]\n";

/// One row at a time, eight scores at a time; probabilities are what they are of the scores so far.
const std::string online = interface + R"(
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

std::string changed(const std::string& from, const std::string& to, std::string text = online) {
  const size_t at = text.find(from);
  if (at == std::string::npos || text.find(from, at + 1) != std::string::npos) {
    ADD_FAILURE() << from << " is not there once";
    return text;
  }
  return text.replace(at, from.size(), to);
}

verify::Evidence proof(const std::string& expression, const std::string& program) {
  return verify::prove(ir::loop::parse(program), ir::parse(expression));
}

TEST(RescaledProofs, SoftmaxOverTiles) {
  const verify::Evidence evidence = proof(given_scores, online);
  EXPECT_EQ(evidence.verdict, Verdict::proved) << evidence.text;
}

TEST(RescaledProofs, WrongOnesAreNotProved) {
  const std::pair<const char*, const char*> wrongs[] = {
      // Nothing is rescaled, or only one of the two.
      {"o[z] *= w[]", "o[z] *= 1:f32"},
      {"o[z] *= w[]\n", "\n"},
      {"l[] *= e[]", "l[] *= 1:f32"},
      {"mul(before[], inv[])", "before[]"},
      {"mul(before[], inv[])", "e[]"},
      // By the factor of another maximum: the new one twice, the old one twice, the other way round.
      {"exp(sub(old[], m[]))", "exp(sub(m[], m[]))"},
      {"exp(sub(old[], m[]))", "exp(sub(old[], old[]))"},
      {"exp(sub(old[], m[]))", "exp(sub(m[], old[]))"},
      {"q[c] = exp(sub(s[i, 8*t + c], m[]))", "q[c] = exp(sub(s[i, 8*t + c], old[]))"},
      // The maximum of other scores.
      {"m[] max= s[i, 8*t + c]", "m[] max= s[i, c]"},
      {"m[] max= s[i, 8*t + c]", "m[] max= s[0, 8*t + c]"},
      {"for c < min(8, n - 8*t) { m[] max=", "for c < min(7, n - 8*t) { m[] max="},
      {"m[] max= s[i, 8*t + c]", "m[] min= s[i, 8*t + c]"},
      // Nothing has been subtracted: right over the reals.
      {"for c < min(8, n - 8*t) { m[] max= s[i, 8*t + c] }", ""},
      // Starts.
      {"l[] = 0:f32", "l[] = 1:f32"},
      {"o[z] = 0:f32", "o[z] = 1:f32"},
      // The last division.
      {"mul(o[z], div(max(l[], 1:f32), l[]))", "mul(o[z], l[])"},
      {"div(max(l[], 1:f32), l[])", "div(1:f32, l[])"},
      {"div(max(l[], 1:f32), l[])", "div(l[], max(l[], 1:f32))"},
      {"q[c] *= inv[]", "q[c] *= 1:f32"},
      {"before[] = mul(max(l[], 1:f32), e[])", "before[] = mul(max(l[], 2:f32), e[])"},
      {"before[] = mul(max(l[], 1:f32), e[])", "before[] = mul(l[], e[])"},
      // Added before, not after.
      {"l[] *= e[]\n      for c < min(8, n - 8*t) {\n        q[c] = exp(sub(s[i, 8*t + c], m[]))\n        "
       "l[] += "
       "q[c]\n      }",
       "for c < min(8, n - 8*t) {\n        q[c] = exp(sub(s[i, 8*t + c], m[]))\n        l[] += q[c]\n      "
       "}\n"
       "      l[] *= e[]"},
      // Terms: too few, twice, others.
      {"for c < min(8, n - 8*t) { o[z] +=", "for c < min(7, n - 8*t) { o[z] +="},
      {"o[z] += mul(q[c], v[8*t + c, z])", "o[z] += mul(q[c], v[c, z])"},
      {"o[z] += mul(q[c], v[8*t + c, z])", "o[z] += mul(q[c], v[8*t + c, d - 1 - z])"},
      {"for t < (n + 7) / 8", "for t < n / 8"},
      {"for t < (n + 7) / 8", "for t < min((n + 7) / 8, 511)"},
  };
  for (const auto& [from, to] : wrongs) {
    const verify::Evidence evidence = proof(given_scores, changed(from, to));
    EXPECT_NE(evidence.verdict, Verdict::proved) << from << " as " << to;
  }
}

}  // namespace
}  // namespace axrun::tests
