#pragma once

#include <optional>
#include <random>
#include <string>

#include "ir/loop/loop_program.h"

namespace axrun::tests {

struct Mutant {
  std::string kind;  ///< "race", "tail", ...
  ir::loop::LoopProgram program;
};

/// A loop program with one mistake made in it, at a place drawn at random. It is well-formed, but need not be
/// wrong: whoever uses it asks the interpreters. Nothing where the draw does not suit the program.
std::optional<Mutant> mutate(const ir::loop::LoopProgram& valid, std::mt19937_64& random);

}  // namespace axrun::tests
