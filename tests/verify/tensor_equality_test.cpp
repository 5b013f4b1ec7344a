#include "verify/tensor_equality.h"

#include <gtest/gtest.h>

#include "tests/verify/identities.h"
#include "tests/verify/operator_terms.h"

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

INSTANTIATE_TEST_SUITE_P(TensorEquality, TrueIdentity, testing::ValuesIn(true_identities()), test_name);
INSTANTIATE_TEST_SUITE_P(TensorEquality, FalseIdentity, testing::ValuesIn(false_identities()), test_name);

}  // namespace
}  // namespace axrun::tests
