// Whole attention as machine code, against the reference interpreter.
#include <gtest/gtest.h>

#include "tests/search/attention_cases.h"
#include "tests/search/machine_code.h"

namespace axrun::tests {
namespace {

class Attentions : public testing::TestWithParam<Case> {};

TEST_P(Attentions, AreComputedByMachineCode) { expect_computed(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Lowering, Attentions, testing::ValuesIn(attention_cases()),
                         [](const auto& info) { return info.param.name; });

/// Many queries: what is kept of their scores grows with a block, not with them.
TEST(Attentions, KeepTheScoresOfABlock) {
  const std::vector<Case> cases = attention_cases();
  const Case& any_length = cases[3];
  for (const jit::Target& target : targets_with_code()) {
    const search::Lowered lowered = search::lower(any_length.make(), any_length.sizes, {}, target);
    ASSERT_TRUE(lowered.program) << lowered.reason;
    const auto code = jit::KernelCode::compile(*lowered.program, target, {});
    const auto scratch = [&](int64_t queries) {
      return jit::BoundKernel(code, {{"n", queries}, {"m", 64}}).scratch_bytes(1);
    };
    EXPECT_EQ(scratch(128), scratch(4096));
  }
}

}  // namespace
}  // namespace axrun::tests
