// A slice of what equality_mutants runs in full.
#include "tests/verify/identity_mutants.h"

#include <gtest/gtest.h>

namespace axrun::tests {
namespace {

TEST(IdentityMutants, NoneIsAccepted) {
  const MutantTrial trial = try_identity_mutants(80, 1, "");
  EXPECT_EQ(trial.wrong, 80);
  EXPECT_GE(trial.survivors, 25);
  for (const std::string& accepted : trial.accepted) ADD_FAILURE() << accepted;
  EXPECT_GE(trial.by_kind.size(), 10u);
}

TEST(IdentityMutants, AreTheSameForTheSameSeed) {
  const MutantTrial first = try_identity_mutants(20, 5, "scale"),
                    second = try_identity_mutants(20, 5, "scale");
  EXPECT_EQ(first.wrong, second.wrong);
  EXPECT_EQ(first.survivors, second.survivors);
  ASSERT_EQ(first.by_kind.size(), second.by_kind.size());
  for (const auto& [kind, counts] : first.by_kind) EXPECT_EQ(counts.wrong, second.by_kind.at(kind).wrong);
}

}  // namespace
}  // namespace axrun::tests
