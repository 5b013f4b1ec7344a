// Wrong programs that look right to a careless prover, and right ones that look wrong.
#include <gtest/gtest.h>

#include "ir/text.h"
#include "verify/loop_proof.h"

namespace axrun::tests {
namespace {

using verify::Verdict;

Verdict verdict(const std::string& expression, const std::string& program) {
  const verify::Evidence evidence = verify::prove(ir::loop::parse(program), ir::parse(expression));
  testing::Test::RecordProperty("evidence", evidence.text);
  return evidence.verdict;
}

const std::string row_sums = R"(program f(x: f32[r, n]) -> (y) {
  y: f32[r] = reduce sum (i: r; p: n) { x[i, p] }
})";

std::string rows(const std::string& body) {
  return "loops f(r: 1..9, n: 1..40) {\n input x: f32[r, n]\n output y: f32[r]\n" + body + "\n}";
}

TEST(LoopTraps, Accumulators) {
  const std::string right =
      "for i < r { allocate s: f32[] in registers\n s[] = 0:f32\n for p < n { s[] += x[i, p] }"
      " y[i] = s[] }";
  EXPECT_EQ(verdict(row_sums, rows(right)), Verdict::proved);
  const char* const wrongs[] = {
      // Not emptied for every row.
      "allocate s: f32[] in registers\n s[] = 0:f32\n for i < r { for p < n { s[] += x[i, p] } y[i] = s[] }",
      // Emptied in every iteration.
      "for i < r { allocate s: f32[] in registers\n for p < n { s[] = 0:f32\n s[] += x[i, p] } y[i] = s[] }",
      // Emptied too late, in the last iteration.
      "for i < r { allocate s: f32[] in registers\n s[] = 0:f32\n for p < n { s[] += x[i, p]\n"
      " for z < 1 - min(n - 1 - p, 1) { s[] = 0:f32 } } y[i] = s[] }",
      // Used before it is complete, every time; the last value stays.
      "for i < r { y[i] = 0:f32\n for p < n - 1 { y[i] += x[i, p] } }",
      // Counted twice.
      "for i < r { y[i] = 0:f32\n for z < 2 { for p < n { y[i] += x[i, p] } } }",
      "for i < r { y[i] = 0:f32\n for p < n { y[i] += x[i, p] } for p < min(n, 3) { y[i] += x[i, p] } }",
      // The last tile overlaps the one before.
      "for i < r { y[i] = 0:f32\n for t < (n + 7) / 8 { for v < min(8, n) { y[i] += x[i, min(8*t, n - min(8, "
      "n)) + v]"
      " } } }",
      // The first element twice.
      "for i < r { y[i] = x[i, 0]\n for p < n { y[i] += x[i, p] } }",
      // Another row's sum, for one row.
      "for i < r { y[i] = 0:f32\n for p < n { y[i] += x[i, p] } } y[0] = y[r - 1]",
      // Only where there are few columns.
      "for i < r { y[i] = 0:f32\n for p < min(n, 39) { y[i] += x[i, p] } }",
      // The order of what combines and what assigns.
      "for i < r { for p < n { y[i] += x[i, p] } y[i] = 0:f32 }",
      "for i < r { y[i] = 0:f32\n for p < n { y[i] += x[i, p]\n y[i] max= 0:f32 } }",
  };
  for (const char* const wrong : wrongs) EXPECT_EQ(verdict(row_sums, rows(wrong)), Verdict::refuted) << wrong;
}

TEST(LoopTraps, RightOnesThatLookWrong) {
  const char* const rights[] = {
      // Starts at the first element.
      "for i < r { y[i] = x[i, 0]\n for p < n - 1 { y[i] += x[i, p + 1] } }",
      // Two loops share the terms.
      "for i < r { y[i] = 0:f32\n for p < n / 2 { y[i] += x[i, p] } for p < n - n / 2 { y[i] += x[i, p + n / "
      "2] } }",
      // Backwards.
      "for i < r { y[i] = 0:f32\n for p < n { y[i] += x[i, n - 1 - p] } }",
      // Even ones, then odd ones.
      "for i < r { y[i] = 0:f32\n for p < (n + 1) / 2 { y[i] += x[i, 2*p] } for p < n / 2 { y[i] += x[i, 2*p "
      "+ 1] } }",
      // A claim that is not true of the terms, with an inverse that is.
      "for i < r { y[i] = 0:f32\n for p < n { y[i] += x[i, n - 1 - p] computes y(i, p) inverse(x0, x1) } }",
      // What is written first is overwritten.
      "for i < r { y[i] = 7:f32 } for i < r { y[i] = 0:f32\n for p < n { y[i] += x[i, p] } }",
      // The rest of the columns by a statement of its own.
      "for i < r { y[i] = 0:f32\n for t < n / 4 { for v < 4 { y[i] += x[i, 4*t + v] } }"
      " for v < n - 4*(n / 4) { y[i] += x[i, 4*(n / 4) + v] } }",
      // Rows by two statements.
      "for i < r / 2 { y[i] = 0:f32 } for i < r - r / 2 { y[i + r / 2] = 0:f32 }"
      " for i < r { for p < n { y[i] += x[i, p] } }",
  };
  for (const char* const right : rights) EXPECT_EQ(verdict(row_sums, rows(right)), Verdict::proved) << right;
}

TEST(LoopTraps, Races) {
  const char* const wrongs[] = {
      "allocate s: f32[] in cache\n parallel i < r { s[] = 0:f32\n for p < n { s[] += x[i, p] } y[i] = s[] }",
      "for i < r { y[i] = 0:f32\n parallel p < n { y[i] += x[i, p] } }",
      "parallel i < r { y[i] = 0:f32 } parallel i < r { for p < n { y[r - 1 - i] += x[min(i, 1), p] } }",
  };
  for (const char* const wrong : wrongs) EXPECT_EQ(verdict(row_sums, rows(wrong)), Verdict::refuted) << wrong;
  // Sequentially right, but a vector loop computes lanes at the same time.
  EXPECT_NE(verdict(row_sums, rows("for i < r { allocate s: f32[41] in registers\n s[0] = 0:f32\n"
                                   " vector p < n { s[p + 1] = add(s[p], x[i, p]) } y[i] = s[n] }")),
            Verdict::proved);
  EXPECT_NE(verdict(R"(program f(x: f32[r, n]) -> (y) { y: f32[r] = map (i: r) { x[i, 0] } })",
                    rows("for i < r { allocate s: f32[9] in registers\n s[0] = x[i, 0]\n"
                         " vector p < 8 { s[p + 1] = s[p] } y[i] = s[8] }")),
            Verdict::proved);
}

TEST(LoopTraps, EmptyClaimsProveNothing) {
  const std::string expression = "program f(x: f32[n]) -> (y) { y: f32[n] = map (i: n) { x[i] } }";
  const std::string body = " input x: f32[n]\n output y: f32[n]\n for i < n { y[i] = neg(x[i]) }\n}";
  EXPECT_EQ(verdict(expression, "loops f(n: 3..5 by 7) {\n" + body), Verdict::unknown);
  EXPECT_EQ(verdict(expression, "loops f(n: 3..7 by 7) {\n" + body), Verdict::refuted);
}

TEST(LoopTraps, IndicesThatLeave64Bits) {
  const std::string expression = "program f(x: f32[n]) -> (y) { y: f32[n] = map (i: n) { x[i] } }";
  EXPECT_EQ(verdict(expression,
                    "loops f(n: 0..1099511627776) {\n input x: f32[n]\n output y: f32[n]\n"
                    " for i < n { y[(i*16777216) / 16777216] = x[i] }\n}"),
            Verdict::proved);
  EXPECT_EQ(verdict(expression,
                    "loops f(n: 0..1099511627776) {\n input x: f32[n]\n output y: f32[n]\n"
                    " for i < n { y[i] = x[min(i, 16777216*n - 16777216*i)] }\n}"),
            Verdict::unknown);
}

TEST(LoopTraps, FloorsOfNegatives) {
  const std::string expression = R"(program f(x: f32[8]) -> (y) {
    y: f32[8] = map (i: 8) { x[floor_mod(i - 3, 8)] }
  })";
  const std::string head = "loops f() {\n input x: f32[8]\n output y: f32[8]\n";
  EXPECT_EQ(verdict(expression, head + "for i < 8 { y[i] = x[(i + 5) mod 8] }\n}"), Verdict::proved);
  EXPECT_EQ(verdict(expression, head + "for i < 3 { y[i] = x[i + 5] } for i < 5 { y[i + 3] = x[i] }\n}"),
            Verdict::proved);
  EXPECT_EQ(verdict(expression, head + "for i < 8 { y[i] = x[max(i - 3, 0)] }\n}"), Verdict::refuted);
}

TEST(LoopTraps, IntegerDivisions) {
  const std::string expression =
      "program f(x: i32[n], d: i32[n]) -> (y) { y: i32[n] = map (i: n) { x[i] / DIVISOR } }";
  const auto verdict_of = [&](const std::string& in_expression, const std::string& in_program) {
    std::string text = expression;
    text.replace(text.find("DIVISOR"), 7, in_expression);
    return verdict(text,
                   "loops f(n: 1..9) {\n input x: i32[n]\n input d: i32[n]\n output y: i32[n]\n for i < n { "
                   "y[i] = div(x[i], " +
                       in_program + ") }\n}");
  };
  EXPECT_EQ(verdict_of("3:i32", "3:i32"), Verdict::proved);
  EXPECT_EQ(verdict_of("d[i]", "d[i]"), Verdict::unknown);
  EXPECT_EQ(verdict_of("3:i32", "2:i32"), Verdict::refuted);
}

TEST(LoopTraps, WhatIsEqualOverTheRealsOnlyByAlgebraIsNotProved) {
  EXPECT_EQ(verdict("program f(x: f32[n]) -> (y) { y: f32[n] = map (i: n) { x[i] + x[i] } }",
                    "loops f(n: 1..9) {\n input x: f32[n]\n output y: f32[n]\n for i < n { y[i] = mul(2:f32, "
                    "x[i]) }\n}"),
            Verdict::unknown);
}

}  // namespace
}  // namespace axrun::tests
