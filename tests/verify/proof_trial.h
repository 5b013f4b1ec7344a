#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/verify/loop_cases.h"

namespace axrun::tests {

/// What the prover said about programs that are valid by construction, and about mutants of them.
struct ProofTrial {
  int valid = 0;
  std::vector<std::string> refused;  ///< valid programs that were not proved, with the reason

  int wrong = 0;                      ///< mutants that the interpreters tell from the expression
  std::vector<std::string> accepted;  ///< those of them that were proved, with the program
  int equal = 0;                      ///< mutants that were proved and differ nowhere where they were run
  int undecided = 0;                  ///< mutants that were not proved and differ nowhere
  std::map<std::string, int> wrong_by_kind;
  std::map<std::string, int> undecided_by_reason;

  std::vector<double> valid_seconds;
  std::vector<double> mutant_seconds;  ///< proof attempts of mutants, the search for a counterexample included
};

/// Proves the program; a proof of a valid program is compared with the interpreters as well.
void try_valid(ProofTrial& trial, const LoopCase& valid);
/// Mutants of the program until `count` of them are wrong (or many draws were in vain).
void try_mutants(ProofTrial& trial, const LoopCase& valid, int count, uint64_t seed);

}  // namespace axrun::tests
