// Sums of floats that are made of integers, against factors times sums of these integers.
#include <gtest/gtest.h>

#include "ir/text.h"
#include "verify/rewrite_proof.h"

namespace axrun::tests {
namespace {

std::string floats(const std::string& terms, const std::string& scale = "0.25:f32") {
  return "program p(x: u8[5, " + terms + "], w: i8[" + terms + R"(, 7]) -> (y) {
  y: f32[5, 7] = reduce sum (i0: 5, i1: 7; r0: )" +
         terms + R"() {
    (cast(f32, cast(i32, x[i0, r0]) - 117:i32) * )" +
         scale + R"() * (cast(f32, cast(i32, w[r0, i1])) * 0.5:f32)
  }
})";
}

std::string integers(const std::string& terms, const std::string& zero = "117:i32",
                     const std::string& product = "cast(f32, s[i0, i1]) * 0.25:f32 * 0.5:f32",
                     const std::string& bound = "") {
  return "program p(x: u8[5, " + terms + "], w: i8[" + terms + R"(, 7]) -> (y) {
  s: i32[5, 7] = reduce sum (i0: 5, i1: 7; r0: )" +
         (bound.empty() ? terms : bound) + R"() { (cast(i32, x[i0, r0]) - )" + zero +
         R"() * cast(i32, w[r0, i1]) }
  y: f32[5, 7] = map (i0: 5, i1: 7) { )" +
         product + R"( }
})";
}

std::string verdict(const std::string& original, const std::string& rewritten) {
  const auto evidence = verify::prove_rewrite(ir::parse(original), ir::parse(rewritten), {});
  return std::string(name_of(evidence.verdict)) +
         (evidence.text.find("proved") == 0 ? "" : ": " + evidence.text);
}

bool is_proved(const std::string& original, const std::string& rewritten) {
  return verdict(original, rewritten).rfind("proved", 0) == 0;
}

TEST(ScaledSum, IsTheSumOfTheIntegers) {
  EXPECT_TRUE(is_proved(floats("40"), integers("40"))) << verdict(floats("40"), integers("40"));
  EXPECT_TRUE(is_proved(integers("40"), floats("40")));
  EXPECT_TRUE(
      is_proved(floats("40"), integers("40", "117:i32", "0.5:f32 * (0.25:f32 * cast(f32, s[i0, i1]))")));
}

TEST(ScaledSum, ThatMayNotFitIsNotBelieved) {
  // 138 * 128 * 121,000 is less than 2^31, 138 * 128 * 122,000 is more.
  EXPECT_TRUE(is_proved(floats("121000"), integers("121000")));
  EXPECT_FALSE(is_proved(floats("122000"), integers("122000")));
}

TEST(ScaledSum, NeedsEveryFactorOnceAndEveryTerm) {
  EXPECT_FALSE(is_proved(floats("40"), integers("40", "118:i32")));
  EXPECT_FALSE(is_proved(floats("40"), integers("40", "117:i32", "cast(f32, s[i0, i1]) * 0.25:f32")));
  EXPECT_FALSE(
      is_proved(floats("40"), integers("40", "117:i32", "cast(f32, s[i0, i1]) * 0.25:f32 * 0.25:f32")));
  EXPECT_FALSE(is_proved(floats("40"),
                         integers("40", "117:i32", "cast(f32, s[i0, i1]) * 0.25:f32 * 0.5:f32 * 0.5:f32")));
  EXPECT_FALSE(
      is_proved(floats("40"), integers("40", "117:i32", "cast(f32, s[i0, i1]) * 0.25:f32 * 0.5:f32", "39")));
}

TEST(ScaledSum, AFactorThatVariesStaysInside) {
  const std::string varying = "cast(f32, cast(i32, w[r0, 0]))";
  EXPECT_FALSE(
      is_proved(floats("40", varying), integers("40", "117:i32",
                                                "cast(f32, s[i0, i1]) * cast(f32, cast(i32, w[0, 0])) * "
                                                "0.5:f32")));
}

std::string difference(const std::string& padded = "117:i32", const std::string& shift = "117:i32",
                       const std::string& sum = "s[i0, i1] - t[i1]",
                       const std::string& rows = "cast(i32, w[r0, i0])") {
  return R"(program p(x: u8[5, 40], w: i8[40, 7]) -> (y) {
  t: i32[7] = reduce sum (i0: 7; r0: 40) { )" +
         rows + " * " + shift + R"( }
  s: i32[5, 7] = reduce sum (i0: 5, i1: 7; r0: 40) {
    select(r0 < 39, cast(i32, x[i0, r0]), )" +
         padded + R"() * cast(i32, w[r0, i1])
  }
  y: f32[5, 7] = map (i0: 5, i1: 7) { cast(f32, )" +
         sum + R"() * 0.25:f32 * 0.5:f32 }
})";
}

TEST(ScaledSum, OfDifferencesIsADifferenceOfSums) {
  const std::string padded = R"(program p(x: u8[5, 40], w: i8[40, 7]) -> (y) {
  a: f32[5, 40] = map (i0: 5, i1: 40) { cast(f32, cast(i32, x[i0, i1]) - 117:i32) * 0.25:f32 }
  y: f32[5, 7] = reduce sum (i0: 5, i1: 7; r0: 40) {
    a[i0, r0; r0 < 39; 0:f32] * (cast(f32, cast(i32, w[r0, i1])) * 0.5:f32)
  }
})";
  EXPECT_TRUE(is_proved(padded, difference())) << verdict(padded, difference());
  EXPECT_FALSE(is_proved(padded, difference("0:i32")));
  EXPECT_FALSE(is_proved(padded, difference("116:i32")));
  EXPECT_FALSE(is_proved(padded, difference("117:i32", "118:i32")));
  EXPECT_FALSE(is_proved(padded, difference("117:i32", "117:i32", "s[i0, i1] + t[i1]")));
  EXPECT_FALSE(is_proved(padded, difference("117:i32", "117:i32", "t[i1] - s[i0, i1]")));
  EXPECT_FALSE(is_proved(padded, difference("117:i32", "117:i32", "s[i0, i1] - t[6 - i1]")));
  EXPECT_FALSE(
      is_proved(padded, difference("117:i32", "117:i32", "s[i0, i1] - t[i1]", "cast(i32, w[r0, 6 - i0])")));
}

/// Weights with a scale for each column, which `scale` reads.
std::string by_columns(const std::string& scale = "t[i1]") {
  return R"(program p(x: u8[5, 8], w: i8[8, 8], t: f32[8], z: i8[8]) -> (y) {
  b: f32[8, 8] = map (i0: 8, i1: 8) { cast(f32, cast(i32, w[i0, i1]) - cast(i32, z[i1])) * )" +
         scale + R"( }
  y: f32[5, 8] = reduce sum (i0: 5, i1: 8; r0: 8) { (cast(f32, cast(i32, x[i0, r0])) * 0.25:f32) * b[r0, i1] }
})";
}

std::string scaled_columns(const std::string& factor, const std::string& zero = "z[i1]") {
  return R"(program p(x: u8[5, 8], w: i8[8, 8], t: f32[8], z: i8[8]) -> (y) {
  s: i32[5, 8] = reduce sum (i0: 5, i1: 8; r0: 8) {
    cast(i32, x[i0, r0]) * (cast(i32, w[r0, i1]) - cast(i32, )" +
         zero + R"())
  }
  y: f32[5, 8] = map (i0: 5, i1: 8) { cast(f32, s[i0, i1]) * )" +
         factor + R"( }
})";
}

TEST(ScaledSum, FactorsMayVaryWithTheResult) {
  const std::string right = scaled_columns("(t[i1] * 0.25:f32)");
  EXPECT_TRUE(is_proved(by_columns(), right)) << verdict(by_columns(), right);
  EXPECT_TRUE(is_proved(right, by_columns()));
  const std::string bounded = "max(min(t[i1], 1024:f32), 0.125:f32)";
  EXPECT_TRUE(is_proved(by_columns(bounded), scaled_columns("0.25:f32 * " + bounded)));
  // Those of another column, of a row, or of all of them; with other bounds; without one of them, or twice.
  EXPECT_FALSE(is_proved(by_columns(), scaled_columns("(t[7 - i1] * 0.25:f32)")));
  EXPECT_FALSE(is_proved(by_columns(), scaled_columns("(t[i0] * 0.25:f32)")));
  EXPECT_FALSE(is_proved(by_columns(), scaled_columns("(t[0] * 0.25:f32)")));
  EXPECT_FALSE(is_proved(by_columns(bounded), scaled_columns("(t[i1] * 0.25:f32)")));
  EXPECT_FALSE(is_proved(by_columns(), scaled_columns(bounded + " * 0.25:f32")));
  EXPECT_FALSE(is_proved(by_columns(), scaled_columns("0.25:f32")));
  EXPECT_FALSE(is_proved(by_columns(), scaled_columns("t[i1]")));
  EXPECT_FALSE(is_proved(by_columns(), scaled_columns("(t[i1] * t[i1] * 0.25:f32)")));
  EXPECT_FALSE(is_proved(by_columns(), scaled_columns("(t[i1] * 0.25:f32)", "z[7 - i1]")));
}

TEST(ScaledSum, FactorsThatVaryAlongTheSumStayInside) {
  for (const char* const factor : {"t[i0]", "t[i1]", "t[0]", "t[i0 + i1]"})
    EXPECT_FALSE(is_proved(by_columns("t[i0]"), scaled_columns(std::string("(") + factor + " * 0.25:f32)")))
        << factor;
}

}  // namespace
}  // namespace axrun::tests
