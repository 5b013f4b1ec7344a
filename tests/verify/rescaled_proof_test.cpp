// Softmax and products with it over tiles, rescaled whenever the maximum grows: right ones, and what is
// wrong.
#include <gtest/gtest.h>

#include "ir/text.h"
#include "tests/verify/online_softmax.h"
#include "verify/loop_proof.h"

namespace axrun::tests {
namespace {

using verify::Verdict;

std::string changed(const std::string& from, const std::string& to, std::string text = online_softmax) {
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
  const verify::Evidence evidence = proof(given_scores, online_softmax);
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
