// A sample of what build/release/tests/loop_mutants does in full.
#include <gtest/gtest.h>

#include "tests/verify/proof_trial.h"
#include "tests/verify/schedules.h"

namespace axrun::tests {
namespace {

std::string joined(const std::vector<std::string>& list) {
  std::string out;
  for (const std::string& text : list) out += text + "\n";
  return out;
}

TEST(LoopMutants, ValidSchedulesAreProved) {
  ProofTrial trial;
  for (uint64_t seed = 0; seed < 40; ++seed) try_valid(trial, parsed(random_schedule(seed)));
  EXPECT_EQ(trial.valid, 40);
  EXPECT_TRUE(trial.refused.empty()) << joined(trial.refused);
  EXPECT_TRUE(trial.accepted.empty()) << joined(trial.accepted);
}

TEST(LoopMutants, WrongProgramsAreNotProved) {
  ProofTrial trial;
  for (const LoopCase& by_hand : loop_cases()) {
    if (by_hand.name != "packed") try_mutants(trial, parsed(by_hand), 4, 1);  // too large to be interpreted
  }
  for (uint64_t seed = 100; seed < 122; ++seed) try_mutants(trial, parsed(random_schedule(seed)), 3, seed);
  EXPECT_GE(trial.wrong, 100);
  EXPECT_GE(trial.wrong_by_kind.size(), 10U);
  EXPECT_TRUE(trial.accepted.empty()) << joined(trial.accepted);
}

}  // namespace
}  // namespace axrun::tests
