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

INSTANTIATE_TEST_SUITE_P(TensorEquality, TrueIdentity, testing::ValuesIn(true_identities()), test_name);
INSTANTIATE_TEST_SUITE_P(TensorEquality, FalseIdentity, testing::ValuesIn(false_identities()), test_name);

}  // namespace
}  // namespace axrun::tests
