// Machine code of scans, and what has no schedule.
#include <gtest/gtest.h>

#include "ir/builder.h"
#include "tests/search/machine_code.h"
#include "tests/search/recurrence_cases.h"

namespace axrun::tests {
namespace {

class EveryRecurrence : public testing::TestWithParam<Case> {};

TEST_P(EveryRecurrence, IsComputed) { expect_computed(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Recurrences, EveryRecurrence, testing::ValuesIn(recurrence_cases()),
                         [](const auto& info) { return info.param.name; });

/// A scan whose step has a scan.
TEST(Recurrence, ScansWithinScansHaveNoSchedule) {
  using ir::Builder;
  const ir::Dims width = {4};
  Builder b("nested");
  const auto x = b.operand(0, ir::ElementType::f32, width, "x");
  const auto again = [&](Builder& step, const auto&, const auto& states) {
    const auto more = step.map(width, [&](const ir::Indices& i) { return states[0](i) * 2.0; });
    return Builder::StepResult{{more}, {}};
  };
  const auto outer = [&](Builder& step, const auto&, const auto& states) {
    return Builder::StepResult{step.scan(3, {}, {states[0]}, again), {}};
  };
  b.output(b.scan(5, {}, {x}, outer)[0]);
  const search::Lowered lowered = search::lower(b.finish(), {}, {false}, avx512_like());
  EXPECT_FALSE(lowered.program);
  EXPECT_NE(lowered.reason.find("a scan within a scan"), std::string::npos) << lowered.reason;
}

}  // namespace
}  // namespace axrun::tests
