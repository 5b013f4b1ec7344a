// The default schedules are proved, for every size that they claim.
#include <gtest/gtest.h>

#include "ir/text.h"
#include "tests/search/cases.h"
#include "verify/loop_proof.h"

namespace axrun::tests {
namespace {

class EveryProof : public testing::TestWithParam<Case> {};

TEST_P(EveryProof, IsProved) {
  const Case& c = GetParam();
  for (const jit::Target& target : {avx512_like(), avx2_like()}) {
    const search::Lowered lowered = lowered_case(c, target);
    ASSERT_TRUE(lowered.program) << lowered.reason;
    const verify::Evidence evidence = verify::prove(*lowered.program, lowered.expression);
    RecordProperty("seconds", std::to_string(evidence.seconds));
    EXPECT_EQ(name_of(evidence.verdict), "proved")
        << target.name << ": " << evidence.text << '\n'
        << ir::print(lowered.expression) << ir::loop::print(*lowered.program);
  }
}

INSTANTIATE_TEST_SUITE_P(Lowering, EveryProof, testing::ValuesIn(all_cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace axrun::tests
