#include "verify/rewrite_proof.h"

#include <gtest/gtest.h>

#include "ir/text.h"

namespace axrun::tests {
namespace {

using verify::Verdict;

const std::string original = R"(program f(x: f32[b, s, 1, 8], y: f32[8]) -> (z, t) {
  u: f32[b, s, 1, 8] = map (i: b, j: s, o: 1, k: 8) { x[i, j, 0, k] * y[k] }
  z: f32[b, s, 1, 8] = map (i: b, j: s, o: 1, k: 8) { u[i, j, o, k] + 1:f32 }
  t: f32[b] = reduce sum (i: b; j: s, o: 1, k: 8) { u[i, j, o, k] }
})";

verify::Evidence prove(const std::string& rewritten) {
  return verify::prove_rewrite(ir::parse(original), ir::parse(rewritten),
                               {{"b", 1, 64, 1}, {"s", 1, 512, 1}});
}

std::string merged(const std::string& element, const std::string& term) {
  return "program g(x: f32[b*s, 8], y: f32[8]) -> (z, t) {\n  z: f32[8*b*s] = map (i: 8*b*s) { " + element +
         " }\n  t: f32[b] = reduce sum (i: b; j: 8*s) { " + term + " }\n}";
}

const std::string right_element = "1:f32 + y[floor_mod(i, 8)] * x[floor_div(i, 8), floor_mod(i, 8)]";
const std::string right_term = "x[dim(s)*i + floor_div(j, 8), floor_mod(j, 8)] * y[floor_mod(j, 8)]";

TEST(RewriteProof, AnExpressionIsItself) {
  EXPECT_EQ(prove(original).verdict, Verdict::proved) << prove(original).text;
}

TEST(RewriteProof, MergedDimsAndInlinedMaps) {
  const verify::Evidence evidence = prove(merged(right_element, right_term));
  EXPECT_EQ(evidence.verdict, Verdict::proved) << evidence.text;
}

TEST(RewriteProof, OperandsKeepTheirPositions) {
  const std::string before =
      "program f(x: f32[4], u: f32[4], y: f32[4]) -> (z) { z: f32[4] = map (i: 4) { x[i] - y[i] } }";
  const auto verdict = [&](const std::string& head) {
    return verify::prove_rewrite(
               ir::parse(before),
               ir::parse("program g(" + head + ") -> (z) { z: f32[4] = map (i: 4) { x[i] - y[i] } }"), {})
        .verdict;
  };
  EXPECT_EQ(verdict("x: f32[4], none, y: f32[4]"), Verdict::proved);
  EXPECT_EQ(verdict("x: f32[4], y: f32[4]"), Verdict::unknown);
  EXPECT_EQ(verdict("y: f32[4], none, x: f32[4]"), Verdict::unknown);
  EXPECT_EQ(verdict("x: f32[4], none, none, y: f32[4]"), Verdict::unknown);
}

TEST(RewriteProof, WrongOnesAreNotProved) {
  const std::string elements[] = {
      "2:f32 + y[floor_mod(i, 8)] * x[floor_div(i, 8), floor_mod(i, 8)]",
      "1:f32 + y[floor_mod(i, 4)] * x[floor_div(i, 8), floor_mod(i, 8)]",
      "1:f32 + y[floor_mod(i, 8)] * x[floor_mod(i, dim(b*s)), floor_mod(i, 8)]",
      "y[floor_mod(i, 8)] * (x[floor_div(i, 8), floor_mod(i, 8)] + 1:f32)",
  };
  for (const std::string& wrong : elements)
    EXPECT_EQ(prove(merged(wrong, right_term)).verdict, Verdict::unknown) << wrong;
  const std::string terms[] = {
      "x[dim(b)*i + floor_div(j, 8), floor_mod(j, 8)] * y[floor_mod(j, 8)]",
      "x[dim(s)*i + floor_div(j, 8), floor_mod(j, 4)] * y[floor_mod(j, 4)]",
      "x[i, floor_mod(j, 8)] * y[floor_mod(j, 8)]",
  };
  for (const std::string& wrong : terms)
    EXPECT_EQ(prove(merged(right_element, wrong)).verdict, Verdict::unknown) << wrong;
  // Other memory.
  EXPECT_EQ(
      prove("program g(x: f32[s*b, 4, 2], y: f32[4, 2]) -> (z, t) {\n  z: f32[8] = map (i: 8) { 1:f32 }\n"
            "  t: f32[b] = map (i: b) { 1:f32 }\n}")
          .verdict,
      Verdict::unknown);
}

/// Axes of numbers merged with one that is a size.
const std::string with_a_size = R"(program f(x: f32[96, 6, n]) -> (z, t) {
  u: f32[96, 6, n] = map (i: 96, j: 6, k: n) { x[i, j, k] * 2:f32 }
  z: f32[96, 6, n] = map (i: 96, j: 6, k: n) { erf(u[i, j, k]) * x[i, j, k] }
  t: f32[96] = reduce sum (i: 96; j: 6, k: n) { x[i, j, k] }
})";

verify::Evidence prove_with_a_size(const std::string& index, const std::string& term) {
  const std::string rewritten =
      "program g(x: f32[576*n]) -> (z, t) {\n  z: f32[576*n] = map (i: 576*n) { erf(x[" + index +
      "] * 2:f32) * x[i] }\n  t: f32[96] = reduce sum (i: 96; j: 6*n) { x[" + term + "] }\n}";
  return verify::prove_rewrite(ir::parse(with_a_size), ir::parse(rewritten), {{"n", 2, 16384, 1}});
}

TEST(RewriteProof, NumbersMergedWithASize) {
  const verify::Evidence evidence = prove_with_a_size("i", "6*dim(n)*i + j");
  EXPECT_EQ(evidence.verdict, Verdict::proved) << evidence.text;
  EXPECT_EQ(prove_with_a_size("i", "5*dim(n)*i + j").verdict, Verdict::unknown);
  EXPECT_EQ(prove_with_a_size("i", "6*dim(n)*i + floor_mod(j, dim(n))").verdict, Verdict::unknown);
  EXPECT_EQ(prove_with_a_size("floor_mod(i, 6*dim(n))", "6*dim(n)*i + j").verdict, Verdict::unknown);
  EXPECT_EQ(prove_with_a_size("floor_div(i, dim(n))", "6*dim(n)*i + j").verdict, Verdict::unknown);
}

}  // namespace
}  // namespace axrun::tests
