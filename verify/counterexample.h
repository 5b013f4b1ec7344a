#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/loop/loop_program.h"
#include "ir/program.h"

namespace axrun::verify {

struct SearchOptions {
  uint64_t seed = 1;
  int trials = 24;
  double seconds = 2;
  int64_t most_iterations = 400'000;  ///< of statements, per trial
};

/// Sizes to try: small ones, and those around the literals of the program (tile borders), as the claimed
/// ranges allow. Different for every trial, the smallest first.
std::map<std::string, int64_t> trial_sizes(const ir::loop::LoopProgram& program, int trial, uint64_t seed);

/// Sizes, and an output element, at which the interpreters of the loop program and of the expression differ
/// on seeded inputs of small integers (by more than rounding explains), or a mistake of the loop program.
/// Found by running both; nothing where the trials find none.
std::optional<std::string> counterexample(const ir::loop::LoopProgram& program, const ir::Program& expression,
                                          const SearchOptions& options = {});

}  // namespace axrun::verify
