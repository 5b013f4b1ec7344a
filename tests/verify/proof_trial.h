#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "ir/loop/loop_program.h"
#include "ir/program.h"
#include "tests/verify/loop_cases.h"

namespace axrun::tests {

/// A loop program that is right by construction.
struct ValidLoop {
  std::string name;
  ir::Program expression;
  ir::loop::LoopProgram program;
  std::set<std::string> schedules = {};  ///< of its pieces: "contraction", "map"; or how it was made
};
ValidLoop parsed(const LoopCase& text);

/// What the prover said about valid programs, and about mutants of them.
struct ProofTrial {
  double search_seconds = 0.5;  ///< for a counterexample to what is not proved

  int valid = 0;
  std::vector<std::string> refused;  ///< valid programs that were not proved, with the reason

  int wrong = 0;                      ///< mutants that the interpreters tell from the expression
  std::vector<std::string> accepted;  ///< those of them that were proved, with the program
  int equal = 0;                      ///< mutants that were proved and differ nowhere where they were run
  int undecided = 0;                  ///< mutants that were not proved and differ nowhere
  std::map<std::string, int> wrong_by_kind;  ///< of the mistake
  struct Counts {
    int valid = 0;
    int wrong = 0;
  };
  std::map<std::string, Counts> by_schedule;  ///< a program counts for the schedule of each of its pieces
  std::map<std::string, int> undecided_by_reason;

  std::vector<double> valid_seconds;
  std::vector<double>
      mutant_seconds;  ///< proof attempts of mutants, the search for a counterexample included
};

/// Proves the program; what is proved is run by the interpreters as well.
void try_valid(ProofTrial& trial, const ValidLoop& valid);
/// Mutants of the program until `count` of them are wrong, or 6 * count draws are spent.
void try_mutants(ProofTrial& trial, const ValidLoop& valid, int count, uint64_t seed);

}  // namespace axrun::tests
