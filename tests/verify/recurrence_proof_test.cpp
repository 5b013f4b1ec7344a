// Loop programs that carry states from iteration to iteration, right and wrong.
#include <gtest/gtest.h>

#include "ir/text.h"
#include "verify/loop_proof.h"
#include "verify/rewrite_proof.h"

namespace axrun::tests {
namespace {

using verify::Verdict;

verify::Evidence prove(const std::string& expression, const std::string& program) {
  return verify::prove(ir::loop::parse(program), ir::parse(expression));
}

/// A decaying sum, and what depends on it now and before.
const std::string two_states = R"(program f(x: f32[t, w], a: f32[w], b: f32[w]) -> (y, e) {
  last: f32[w], y: f32[w], e: f32[t, w] = scan (length: t; captures: x; states: a, b)
  program step(x: f32[t, w], s: f32[w], p: f32[w]) -> (s1, p1, s1) {
    s1: f32[w] = map (i: w) { s[i] * 0.5:f32 + x[time, i] }
    p1: f32[w] = map (i: w) { max(p[i], s1[i]) - s[i] }
  }
})";

struct Parts {
  std::string start = "for i < w { s[0, i] = a[i]\n p[0, i] = b[i] }\n";
  std::string time = "for now < t { ";
  std::string sum = "for i < w { s[now + 1, i] = add(mul(s[now, i], 0.5:f32), x[now, i]) } ";
  std::string peak = "for i < w { p[now + 1, i] = sub(max(p[now, i], s[now + 1, i]), s[now, i]) } }\n";
  std::string results = "for i < w { y[i] = p[t, i] }\n for k < t { for i < w { e[k, i] = s[k + 1, i] } }\n";
};

std::string written(const Parts& parts) {
  return "loops f(t: 1..50, w: 1..20) {\n input x: f32[t, w]\n input a: f32[w]\n input b: f32[w]\n"
         " output y: f32[w]\n output e: f32[t, w]\n allocate s: f32[t + 1, w] in memory\n"
         " allocate p: f32[t + 1, w] in memory\n" +
         parts.start + parts.time + parts.sum + parts.peak + parts.results + "}";
}

TEST(RecurrenceProof, StatesAreEqualByInduction) {
  const verify::Evidence evidence = prove(two_states, written({}));
  EXPECT_EQ(evidence.verdict, Verdict::proved) << evidence.text;
}

TEST(RecurrenceProof, LanesMayShareATime) {
  Parts parts;
  parts.sum = "vector i < w { s[now + 1, i] = add(mul(s[now, i], 0.5:f32), x[now, i]) } ";
  const verify::Evidence evidence = prove(two_states, written(parts));
  EXPECT_EQ(evidence.verdict, Verdict::proved) << evidence.text;
}

TEST(RecurrenceProof, WrongOnesAreRefuted) {
  const auto refuted = [](const Parts& parts) {
    const verify::Evidence evidence = prove(two_states, written(parts));
    EXPECT_EQ(evidence.verdict, Verdict::refuted) << written(parts) << evidence.text;
  };
  // Of the step before, of the time itself before it is written, in another order of time.
  refuted({.sum = "for i < w { s[now + 1, i] = add(mul(s[max(now - 1, 0), i], 0.5:f32), x[now, i]) } "});
  refuted({.sum = "for i < w { s[now + 1, i] = add(mul(s[now + 1, i], 0.5:f32), x[now, i]) } "});
  refuted({.sum = "for i < w { s[now + 1, i] = add(mul(s[now, i], 0.5:f32), x[t - 1 - now, i]) } "});
  // A state that is only handed on, another element's, another state's.
  refuted({.sum = "for i < w { s[now + 1, i] = s[now, i] } "});
  refuted({.sum = "for i < w { s[now + 1, i] = add(mul(s[now, w - 1 - i], 0.5:f32), x[now, i]) } "});
  refuted({.sum = "for i < w { s[now + 1, i] = add(mul(p[now, i], 0.5:f32), x[now, i]) } "});
  // Before instead of now, and the other way round.
  refuted({.peak = "for i < w { p[now + 1, i] = sub(max(p[now, i], s[now, i]), s[now, i]) } }\n"});
  refuted({.peak = "for i < w { p[now + 1, i] = sub(max(p[now, i], s[now + 1, i]), s[now + 1, i]) } }\n"});
  // The last step is missing, steps run at the same time, a step is done twice where it stays.
  refuted({.time = "for now < t - 1 { "});
  refuted({.time = "parallel now < t { "});
  refuted(
      {.sum = "for z < 2 { for i < w { s[now + 1, i] = add(mul(s[now + z, i], 0.5:f32), x[now, i]) } } "});
  // The first states.
  refuted({.start = "for i < w { s[0, i] = b[i]\n p[0, i] = a[i] }\n"});
  refuted({.start = "for i < w { s[0, i] = a[i] }\n"});
  refuted({.start = "for i < w { s[1, i] = a[i]\n s[0, i] = a[i]\n p[0, i] = b[i] }\n",
           .time = "for now < t { for i < w { s[now, i] = a[i] } "});
  // One step off at the end.
  refuted(
      {.results = "for i < w { y[i] = p[t - 1, i] }\n for k < t { for i < w { e[k, i] = s[k + 1, i] } }\n"});
  refuted({.results = "for i < w { y[i] = p[t, i] }\n for k < t { for i < w { e[k, i] = s[k, i] } }\n"});
  refuted({.results = "for i < w { s[t, i] = 0:f32\n y[i] = p[t, i] }\n"
                      "for k < t { for i < w { e[k, i] = s[k + 1, i] } }\n"});
}

/// The second scan reads what the first one emits, backwards: of any time.
TEST(RecurrenceProof, ScansMayReadEarlierOnes) {
  const std::string expression = R"(program f(x: f32[t], a: f32[]) -> (y) {
  s: f32[], e: f32[t] = scan (length: t; captures: x; states: a)
  program first(x: f32[t], s: f32[]) -> (s1, s1) { s1: f32[] = map () { s[] * 0.5:f32 + x[time] } }
  y: f32[] = scan (length: t; captures: e; states: s)
  program second(e: f32[t], p: f32[]) -> (p1) { p1: f32[] = map () { max(p[], e[dim(t) - 1 - time]) } }
})";
  const auto program = [](const std::string& index) {
    return "loops f(t: 1..50) {\n input x: f32[t]\n input a: f32[]\n output y: f32[]\n"
           " allocate s: f32[t + 1] in memory\n allocate p: f32[t + 1] in memory\n s[0] = a[]\n"
           " for k < t { s[k + 1] = add(mul(s[k], 0.5:f32), x[k]) }\n p[0] = s[t]\n"
           " for k < t { p[k + 1] = max(p[k], s[" +
           index + "]) }\n y[] = p[t]\n}";
  };
  const verify::Evidence right = prove(expression, program("t - k"));
  EXPECT_EQ(right.verdict, Verdict::proved) << right.text;
  EXPECT_NE(prove(expression, program("k + 1")).verdict, Verdict::proved);
  EXPECT_EQ(prove(expression, program("t - 1 - k")).verdict, Verdict::refuted);
}

/// A scan over dims of which some are 1, and the same without them.
TEST(RecurrenceProof, RewritesMayDropUnits) {
  const std::string original = R"(program f(x: f32[t, 1, w], a: f32[1, w]) -> (y) {
  y: f32[1, w] = scan (length: t; captures: x; states: a)
  program step(x: f32[t, 1, w], s: f32[1, w]) -> (s1) {
    s1: f32[1, w] = map (z: 1, i: w) { s[z, i] * 0.5:f32 + x[time, z, i] }
  }
})";
  const auto rewritten = [](const std::string& body) {
    return "program f(x: f32[t, w], a: f32[w]) -> (y) {\n y: f32[w] = scan (length: t; captures: x; states: "
           "a)\n"
           " program step(x: f32[t, w], s: f32[w]) -> (s1) { s1: f32[w] = map (i: w) { " +
           body + " } } }";
  };
  const auto verdict = [&](const std::string& body) {
    return verify::prove_rewrite(ir::parse(original), ir::parse(rewritten(body)),
                                 {{"t", 1, 50}, {"w", 1, 20}})
        .verdict;
  };
  EXPECT_EQ(verdict("s[i] * 0.5:f32 + x[time, i]"), Verdict::proved);
  EXPECT_NE(verdict("s[i] * 0.25:f32 + x[time, i]"), Verdict::proved);
  EXPECT_NE(verdict("s[i] * 0.5:f32 + x[dim(t) - 1 - time, i]"), Verdict::proved);
}

}  // namespace
}  // namespace axrun::tests
