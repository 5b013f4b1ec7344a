// Softmax over tiles with one mistake each: sums that are rescaled by something else, or by what may
// overflow.
#include "tests/checks/traps.h"
#include "tests/verify/online_softmax.h"

namespace axrun::tests {
namespace {

using verify::checks::Id;

Trap of_softmax(std::vector<Id> ids, const std::string& reason,
                const std::vector<std::pair<std::string, std::string>>& changes) {
  std::string text = online_softmax;
  for (const auto& [from, to] : changes) text = changed(text, from, to);
  return loop_trap(std::move(ids), reason, given_scores, text);
}

}  // namespace

std::vector<Trap> rescaled_traps() {
  const std::string lowest = "-3.4028234663852886e38:f32";
  // The maximum of each tile alone, found before: what comes after a larger one is rescaled by more than 1.
  const std::string maxima =
      "allocate tops: f32[(n + 7) / 8 + 1] in memory\n tops[0] = " + lowest +
      "\n for t1 < (n + 7) / 8 { tops[t1 + 1] = " + lowest +
      "\n for c1 < min(8, n - 8*t1) { tops[t1 + 1] max= s[i, 8*t1 + c1] } }\n    l[] = 0:f32";
  return {
      of_softmax({"rescaled.start"}, "does not start at 0", {{"l[] = 0:f32", "l[] = 1:f32"}}),
      of_softmax({"rescaled.one_factor"}, "multiplied and added to",
                 {{"o[z] *= w[]", "o[z] *= 2:f32\n o[z] *= w[]"}}),
      // In every other iteration.
      of_softmax({"rescaled.every_iteration"}, "multiplied and added to",
                 {{"allocate o: f32[d] in cache", "allocate o: f32[2, d] in cache"},
                  {"for z < d { o[z] = 0:f32 }", "for u < 2 { for z < d { o[u, z] = 0:f32 } }"},
                  {"o[z] *= w[]", "o[t mod 2, z] *= w[]"},
                  {"o[z] += mul", "o[0, z] += mul"},
                  {"mul(o[z], div", "mul(o[0, z], div"}}),
      of_softmax(
          {"rescaled.order"}, "multiplied and added to",
          {{"l[] *= e[]\n      for c < min(8, n - 8*t) {\n        q[c] = exp(sub(s[i, 8*t + c], m[]))\n"
            "        l[] += q[c]\n      }",
            "for c < min(8, n - 8*t) {\n        q[c] = exp(sub(s[i, 8*t + c], m[]))\n        l[] += q[c]\n"
            "      }\n      l[] *= e[]"}}),
      of_softmax({"rescaled.factor_at_most_one"}, "not shown to be 1 at most",
                 {{"l[] = 0:f32", maxima},
                  {"old[] = m[]", "old[] = tops[t]"},
                  {"for c < min(8, n - 8*t) { m[] max= s[i, 8*t + c] }", "m[] = tops[t + 1]"}}),
      of_softmax({"rescaled.divisor"}, "divided by 0",
                 {{"before[] = mul(max(l[], 1:f32), e[])", "before[] = mul(max(l[], 0:f32), e[])"},
                  {"inv[] = div(1:f32, max(l[], 1:f32))", "inv[] = div(1:f32, max(l[], 0:f32))"},
                  {"mul(o[z], div(max(l[], 1:f32), l[]))", "mul(o[z], div(max(l[], 0:f32), l[]))"}}),
      of_softmax({"rescaled.telescopes"}, "does not follow from the iteration before",
                 {{"exp(sub(old[], m[]))", "exp(sub(" + lowest + ", m[]))"}}),
      // Nothing is subtracted, which is right over the reals.
      of_softmax({"rescaled.exponential_at_most_one"}, "not shown to be 1 at most",
                 {{"for c < min(8, n - 8*t) { m[] max= s[i, 8*t + c] }", ""}}),
      of_softmax({"rescaled.products"}, "not those of the expression",
                 {{"div(max(l[], 1:f32), l[])", "div(1:f32, l[])"}}),
  };
}

}  // namespace axrun::tests
