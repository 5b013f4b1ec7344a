// What default schedules compute is proved to be what was asked for: the expression as it was simplified
// means the same as the one that was given.
#include "verify/rewrite_proof.h"

#include <gtest/gtest.h>

#include "ir/text.h"
#include "tests/search/cases.h"

namespace axrun::tests {
namespace {

class EveryRewrite : public testing::TestWithParam<Case> {};

TEST_P(EveryRewrite, IsProved) {
  const Case& c = GetParam();
  const ir::Program expression = c.make();
  const search::Lowered lowered = search::lower(expression, c.sizes, c.constant, avx2_like());
  ASSERT_TRUE(lowered.program) << lowered.reason;
  const verify::Evidence evidence = verify::prove_rewrite(expression, lowered.expression, c.sizes);
  EXPECT_EQ(name_of(evidence.verdict), "proved") << evidence.text << '\n'
                                                 << ir::print(expression) << ir::print(lowered.expression);
}

INSTANTIATE_TEST_SUITE_P(Lowering, EveryRewrite, testing::ValuesIn(all_cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace axrun::tests
