#include "verify/tensor_equality.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/verify/identities.h"
#include "tests/verify/operator_terms.h"
#include "verify/equality/refutation.h"

namespace axrun::tests {
namespace {

using verify::Verdict;

verify::Evidence prove(const Identity& identity) {
  const Inputs inputs = parse_inputs(identity.inputs);
  return verify::prove_equal(program_of(inputs, parse_terms(identity.left)),
                             program_of(inputs, parse_terms(identity.right)), sizes_of(inputs));
}

class TrueIdentity : public testing::TestWithParam<Identity> {};
class FalseIdentity : public testing::TestWithParam<Identity> {};

TEST_P(TrueIdentity, IsProved) {
  const verify::Evidence evidence = prove(GetParam());
  EXPECT_EQ(evidence.verdict, Verdict::proved) << evidence.text;
}

TEST_P(TrueIdentity, EachSideIsItself) {
  const Identity& identity = GetParam();
  for (const std::string& side : {identity.left, identity.right}) {
    const verify::Evidence evidence = prove({identity.name, identity.inputs, side, side});
    EXPECT_EQ(evidence.verdict, Verdict::proved) << side << ": " << evidence.text;
  }
}

/// How many come to nothing; none may be refuted.
int unknown_of(const std::vector<Identity>& identities) {
  int unknown = 0;
  for (const Identity& identity : identities) {
    const verify::Evidence evidence = prove(identity);
    EXPECT_NE(evidence.verdict, Verdict::refuted) << identity.name << ": " << evidence.text;
    unknown += evidence.verdict == Verdict::unknown ? 1 : 0;
  }
  return unknown;
}

TEST(HardIdentities, NoneIsRefutedAndMostAreProved) { EXPECT_LE(unknown_of(hard_identities()), 5); }

TEST(HardIdentities, NoneOfMoreIsRefutedAndMostAreProved) {
  EXPECT_LE(unknown_of(more_hard_identities()), 38);
}

TEST(Executions, WhatOverflowsOnTheWayIsNoDifference) {
  const auto difference = [](const char* left, const char* right) {
    const Inputs inputs = parse_inputs("A: n; B: n");
    return verify::equality::executed_difference(program_of(inputs, parse_terms(left)),
                                                 program_of(inputs, parse_terms(right)), sizes_of(inputs), 5);
  };
  // exp(10000) * exp(-10000) is 1, and infinity times 0 in f64.
  EXPECT_EQ(difference("Where(Less(Abs(Mul(Exp(A), Exp(B))), 10000.0), Mul(Exp(A), Exp(B)), 0.0)",
                       "Where(Less(Exp(Add(A, B)), 10000.0), Exp(Add(A, B)), 0.0)"),
            std::nullopt);
  EXPECT_EQ(difference("Where(Less(Exp(Mul(A, Mul(A, A))), 1.0), Exp(Mul(A, Mul(A, A))), 1.0)",
                       "Min(Exp(Mul(A, Mul(A, A))), 1.0)"),
            std::nullopt);
  EXPECT_NE(difference("Where(Less(Exp(Add(A, B)), 2.0), A, B)", "Where(Less(Exp(A), 2.0), A, B)"),
            std::nullopt);
}

// Over the reals these never are what they are compared with; in every type they come to be.
TEST(Comparisons, DoNotRestOnWhatOnlyRealsTellApart) {
  const std::pair<const char*, const char*> cases[] = {
      {"Where(Equal(Tanh(A), 1.0), Add(Tanh(A), 1.0), Tanh(A))", "Tanh(A)"},
      {"Where(Greater(Tanh(Neg(A)), 1.0), 1.0, -1.0)", "Where(GreaterOrEqual(Neg(Tanh(A)), 1.0), 1.0, -1.0)"},
      {"Where(Less(Tanh(A), 1.0), Neg(Tanh(A)), Tanh(A))",
       "Where(LessOrEqual(Tanh(A), 1.0), Neg(Tanh(A)), Tanh(A))"},
      {"Where(Less(Tanh(A), 1.0), A, B)", "Identity(A)"},
      {"Where(Greater(Exp(A), 0.0), A, B)", "Identity(A)"},
      {"Where(Greater(Sigmoid(A), 0.0), A, B)", "Identity(A)"},
      {"Where(Less(Sigmoid(A), 1.0), A, B)", "Identity(A)"},
      {"Where(Greater(Mul(Exp(A), Sigmoid(B)), 0.0), A, B)", "Identity(A)"},
  };
  for (const auto& [left, right] : cases)
    EXPECT_NE(prove({"", "A: n; B: n", left, right}).verdict, Verdict::proved) << left;
  // What reaches its bounds does not pass them.
  for (const auto& [left, right] : {std::pair{"Where(Greater(Add(Exp(A), 1.0), 0.0), A, B)", "Identity(A)"},
                                    std::pair{"Where(Greater(Neg(Exp(A)), 0.0), A, B)", "Identity(B)"}})
    EXPECT_EQ(prove({"", "A: n; B: n", left, right}).verdict, Verdict::proved) << left;
}

TEST(Integers, WhatWrapsIsNoWiderNumber) {
  const std::string bytes = "u: u8 n; w: i8 n; v: u8 n";
  // 255 * 255 does not fit 16 bits with a sign; three bytes times a byte do not.
  EXPECT_EQ(
      prove({"", bytes, "Cast(Mul(Cast(u; to=5), Cast(w; to=5)); to=6)", "Mul(Cast(u; to=6), Cast(w; to=6))"})
          .verdict,
      Verdict::proved);
  EXPECT_EQ(
      prove({"", bytes, "Cast(Mul(Cast(u; to=5), Cast(v; to=5)); to=6)", "Mul(Cast(u; to=6), Cast(v; to=6))"})
          .verdict,
      Verdict::refuted);
  EXPECT_EQ(prove({"", bytes, "Cast(Sub(u, v); to=6)", "Sub(Cast(u; to=6), Cast(v; to=6))"}).verdict,
            Verdict::refuted);
  EXPECT_EQ(prove({"", bytes, "Cast(Sub(u, v); to=1)", "Sub(Cast(u; to=1), Cast(v; to=1))"}).verdict,
            Verdict::refuted);
  EXPECT_EQ(prove({"", bytes, "Cast(Cast(w; to=2); to=6)", "Cast(w; to=6)"}).verdict, Verdict::refuted);
  EXPECT_EQ(prove({"", bytes, "Cast(Cast(w; to=12); to=1)", "Cast(w; to=1)"}).verdict, Verdict::refuted);
}

TEST_P(FalseIdentity, IsRefuted) {
  const verify::Evidence evidence = prove(GetParam());
  EXPECT_EQ(evidence.verdict, Verdict::refuted) << evidence.text;
}

std::string test_name(const testing::TestParamInfo<Identity>& info) {
  std::string name;
  for (const char c : info.param.name) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

verify::Evidence prove_safe(const Identity& identity, double magnitude) {
  const Inputs inputs = parse_inputs(identity.inputs);
  const std::vector<verify::InputRange> ranges(inputs.names.size(), {-magnitude, magnitude});
  return verify::prove_safe(program_of(inputs, parse_terms(identity.left)),
                            program_of(inputs, parse_terms(identity.right)), sizes_of(inputs), ranges);
}

TEST(RangeSafety, ASoftmaxNeedsItsMaximum) {
  const Identity dropped{"", "A: n, m", "Softmax(A; axis=1)",
                         "Div(Exp(A), ReduceSum(Exp(A), {1}; keepdims=1))"};
  EXPECT_EQ(prove(dropped).verdict, Verdict::proved);
  EXPECT_EQ(prove_safe(dropped, 1000).verdict, Verdict::unknown);
  EXPECT_EQ(prove_safe(dropped, 10).verdict, Verdict::proved) << prove_safe(dropped, 10).text;
  const Identity kept{
      "", "A: n, m", "Softmax(A; axis=1)",
      "Div(Exp(Sub(A, ReduceMax(A; axes=[1]))), ReduceSum(Exp(Sub(A, ReduceMax(A; axes=[1]))), {1}; "
      "keepdims=1))"};
  EXPECT_EQ(prove_safe(kept, 1000).verdict, Verdict::proved) << prove_safe(kept, 1000).text;
}

TEST(RangeSafety, ScalesMoveAndVariancesKeepTheirForm) {
  const Identity scale{"", "X: n, k; W: k, m; s: ", "MatMul(Mul(X, s), W)", "Mul(MatMul(X, W), s)"};
  EXPECT_EQ(prove_safe(scale, 1000).verdict, Verdict::proved) << prove_safe(scale, 1000).text;
  const Identity variance{
      "", "A: n, m", "Sqrt(Add(ReduceMean(Pow(Sub(A, ReduceMean(A; axes=[1])), 2.0); axes=[1]), 0.5))",
      "Sqrt(Add(Sub(ReduceMean(Mul(A, A); axes=[1]), Pow(ReduceMean(A; axes=[1]), 2.0)), 0.5))"};
  EXPECT_EQ(prove_safe(variance, 1000).verdict, Verdict::unknown);
  const Identity overflow{"", "A: n, m", "Div(Mul(A, 0.0009765625), 4.0)",
                          "Div(Mul(Mul(A, 1073741824.0), Mul(A, 1073741824.0)), A)"};
  EXPECT_EQ(prove_safe(overflow, 1e15).verdict, Verdict::unknown);
}

constexpr double anything = std::numeric_limits<double>::infinity();

TEST(RangeSafety, WhatOverflowsForHugeOperandsExcusesNothingForSmallOnes) {
  const std::string inputs = "X: n, k; W: k, m; s: ";
  const Identity huge{"", inputs, "MatMul(X, W)", "Div(Mul(MatMul(X, W), 1e35), 1e35)"};
  EXPECT_EQ(prove(huge).verdict, Verdict::proved);
  EXPECT_EQ(prove_safe(huge, anything).verdict, Verdict::unknown);
  const Identity scale{"", inputs, "MatMul(Mul(X, s), W)", "Mul(MatMul(X, W), s)"};
  EXPECT_EQ(prove_safe(scale, anything).verdict, Verdict::proved) << prove_safe(scale, anything).text;
  const Identity division{"", inputs, "MatMul(Div(X, s), W)", "Div(MatMul(X, W), s)"};
  EXPECT_EQ(prove_safe(division, anything).verdict, Verdict::proved) << prove_safe(division, anything).text;
}

TEST(RangeSafety, WhatIsRoundedAwayCounts) {
  const Identity constant{"", "A: n, m", "Identity(A)", "Sub(Add(A, 1e9), 1e9)"};
  EXPECT_EQ(prove(constant).verdict, Verdict::proved);
  EXPECT_EQ(prove_safe(constant, anything).verdict, Verdict::unknown);
  const Identity operand{"", "A: n, m; B: n, m", "Mul(A, B)", "Sub(Mul(Add(A, B), B), Mul(B, B))"};
  EXPECT_EQ(prove(operand).verdict, Verdict::proved);
  EXPECT_EQ(prove_safe(operand, anything).verdict, Verdict::unknown);
  // What the original amplifies by its epsilon excuses nothing either.
  const Identity normalised{"", "X: n, k; g: k; b: k", "LayerNormalization(X, g, b; axis=-1)",
                            "Sub(Add(LayerNormalization(X, g, b; axis=-1), 1e9), 1e9)"};
  EXPECT_EQ(prove_safe(normalised, anything).verdict, Verdict::unknown);
}

TEST(RangeSafety, WhatLittleIsKnownOfExcusesNothing) {
  for (const std::string of :
       {"Asinh(A)", "Atan(A)", "Asin(A)", "Acos(A)", "Acosh(A)", "Atanh(A)", "Tan(A)", "Sinh(A)", "Cosh(A)",
        "Pow(A, B)", "Mod(A, B; fmod=1)", "Mul(A, Cast(BitwiseAnd(u, t); to=1))",
        "Mul(A, Cast(BitShift(u, t; direction=RIGHT); to=1))", "Mul(A, Cast(Mod(u, t); to=1))"}) {
    const std::string inputs = "A: n, m; B: n, m; u: u8 n, m; t: u8 n, m";
    const Identity shifted{"", inputs, of, "Sub(Add(" + of + ", 1e20), 1e20)"};
    EXPECT_EQ(prove_safe(shifted, anything).verdict, Verdict::unknown) << of;
    const Identity turned{"", inputs, "Transpose(Mul(" + of + ", 2.0); perm=[1, 0])",
                          "Mul(2.0, Transpose(" + of + "; perm=[1, 0]))"};
    EXPECT_EQ(prove_safe(turned, anything).verdict, Verdict::proved)
        << of << prove_safe(turned, anything).text;
  }
}

TEST(RangeSafety, ASoftmaxOfAMaximumNeedsItsMaximum) {
  for (const std::string argument : {"Relu(A)", "ReduceMax(B; axes=[2], keepdims=0)"}) {
    const std::string inputs = "A: n, m; B: n, m, k";
    const Identity dropped{"", inputs, "Softmax(" + argument + "; axis=1)",
                           "Div(Exp(" + argument + "), ReduceSum(Exp(" + argument + "), {1}; keepdims=1))"};
    EXPECT_EQ(prove(dropped).verdict, Verdict::proved);
    EXPECT_EQ(prove_safe(dropped, 1000).verdict, Verdict::unknown) << argument;
    const Identity kept{
        "", inputs, "MatMul(Softmax(" + argument + "; axis=1), Transpose(A; perm=[1, 0]))",
        "Transpose(MatMul(A, Transpose(Softmax(" + argument + "; axis=1); perm=[1, 0])); perm=[1, 0])"};
    EXPECT_EQ(prove_safe(kept, 1000).verdict, Verdict::proved) << prove_safe(kept, 1000).text;
  }
  // The original takes an unbounded exponential, of something else.
  const Identity other{"", "A: n, m; B: n, m", "Mul(Softmax(A; axis=1), Exp(B))",
                       "Mul(Div(Exp(A), ReduceSum(Exp(A), {1}; keepdims=1)), Exp(B))"};
  EXPECT_EQ(prove(other).verdict, Verdict::proved);
  EXPECT_EQ(prove_safe(other, anything).verdict, Verdict::unknown);
}

INSTANTIATE_TEST_SUITE_P(TensorEquality, TrueIdentity, testing::ValuesIn(true_identities()), test_name);
INSTANTIATE_TEST_SUITE_P(TensorEquality, FalseIdentity, testing::ValuesIn(false_identities()), test_name);
INSTANTIATE_TEST_SUITE_P(Bits, TrueIdentity, testing::ValuesIn(bit_identities()), test_name);
INSTANTIATE_TEST_SUITE_P(Bits, FalseIdentity, testing::ValuesIn(false_bit_identities()), test_name);

}  // namespace
}  // namespace axrun::tests
