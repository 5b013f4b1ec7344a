#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace axrun::tests {

/// What became of mutants of the identities' right sides against the left sides.
struct MutantTrial {
  int wrong = 0;      ///< an execution tells the sides apart
  int survivors = 0;  ///< of these: not one of 100 random small inputs at one size does
  int refuted = 0, unknown = 0;
  int equal_proved = 0, equal_unknown = 0;  ///< of those that nothing tells apart
  std::vector<std::string> accepted;        ///< proved, and told apart
  std::map<std::string, int> by_kind;       ///< of wrong ones
  std::vector<double> seconds;
};

/// Until so many are wrong. only: identities whose names contain it.
MutantTrial try_identity_mutants(int wrong, uint64_t seed, const std::string& only);

}  // namespace axrun::tests
