// Products written by schedules that are given, and by those that the dynamic program finds, against the
// reference interpreter.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "tests/search/machine_code.h"
#include "tests/search/scheduled_product_cases.h"
#include "verify/loop_proof.h"

namespace axrun::tests {
namespace {

class ScheduledProducts : public testing::TestWithParam<Case> {};

TEST_P(ScheduledProducts, AreComputedByMachineCode) { expect_computed(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Lowering, ScheduledProducts, testing::ValuesIn(scheduled_product_cases()),
                         [](const auto& info) { return info.param.name; });

class FoundSchedules : public testing::TestWithParam<Case> {};

/// Whether there is a schedule of its rank for every target.
bool is_found(const Case& c) {
  std::vector<jit::Target> targets = targets_with_code();
  targets.insert(targets.end(), {avx512_like(), avx2_like()});
  return std::all_of(targets.begin(), targets.end(),
                     [&](const jit::Target& target) { return lowered_case(c, target).program.has_value(); });
}

TEST_P(FoundSchedules, AreProvedAndComputedByMachineCode) {
  Case c = GetParam();
  ASSERT_TRUE(is_found(c));
  for (; is_found(c); ++c.rank) {
    expect_computed(c);
    for (const jit::Target& target : {avx512_like(), avx2_like()}) {
      const search::Lowered lowered = lowered_case(c, target);
      const verify::Evidence evidence = verify::prove(*lowered.program, lowered.expression);
      EXPECT_EQ(name_of(evidence.verdict), "proved")
          << target.name << ": " << evidence.text << ir::loop::print(*lowered.program);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Lowering, FoundSchedules, testing::ValuesIn(found_product_cases()),
                         [](const auto& info) { return info.param.name; });

TEST(ScheduledProducts, OfConstantsAreTriedFromBothSides) {
  const std::vector<Case> cases = found_product_cases();
  const auto turned = std::find_if(cases.begin(), cases.end(),
                                   [](const Case& c) { return c.name == "ScheduledFoundForTurnedSides"; });
  ASSERT_NE(turned, cases.end());
  for (const jit::Target& target : {avx512_like(), avx2_like()}) {
    std::set<bool> sides;
    for (Case c = *turned; lowered_case(c, target).program; ++c.rank)
      sides.insert(lowered_case(c, target).schedule.text.find("turned") != std::string::npos);
    EXPECT_EQ(sides.size(), 2U) << target.name;
  }
}

/// What is known of alternatives, and that they differ.
TEST(ScheduledProducts, AlternativesAreReported) {
  const auto expression = any_rows_product();
  const search::Sizes sizes = {{"m", 1, 4096, 1}};
  const std::vector<bool> constant = {false, true, true};
  const auto at = [&](size_t rank) {
    return search::lower(expression, sizes, constant, avx512_like(), rank);
  };
  const search::Lowered usual = at(0);
  ASSERT_GE(usual.alternatives, 2U);
  EXPECT_EQ(usual.schedule.text, "default");
  EXPECT_EQ(usual.schedule.states, 0);
  std::set<std::string> programs = {ir::loop::print(*usual.program)};
  double before = 0;
  for (size_t rank = 1; rank <= usual.alternatives; ++rank) {
    const search::Lowered lowered = at(rank);
    ASSERT_TRUE(lowered.program) << rank;
    EXPECT_TRUE(programs.insert(ir::loop::print(*lowered.program)).second) << lowered.schedule.text;
    EXPECT_EQ(lowered.schedule.text, at(rank).schedule.text);
    EXPECT_EQ(lowered.alternatives, usual.alternatives);
    EXPECT_GE(lowered.schedule.expected, before);
    before = lowered.schedule.expected;
    EXPECT_GT(lowered.schedule.expected, 0);
    EXPECT_GE(lowered.schedule.gap, 0);
  }
  const search::Lowered none = at(usual.alternatives + 1);
  EXPECT_FALSE(none.program);
  EXPECT_EQ(none.reason, "it has no such alternative");
}

}  // namespace
}  // namespace axrun::tests
