#pragma once

#include <map>
#include <string>
#include <vector>

#include "jit/layout.h"

namespace axrun::jit {

/// What a phase does at these sizes, in words that say nothing of the program around it: buffers and loop
/// variables are numbered in order of appearance, sizes are their values, and what the statements are said to
/// compute is left out. Phases of equal text write the same bytes where they read the same.
struct PhaseText {
  std::string text;
  std::vector<int> buffers;  ///< of the program, in the order of their numbers
};
PhaseText text_of(const ir::loop::LoopProgram& program, const Phase& phase,
                  const std::map<std::string, ir::Dim>& sizes);

}  // namespace axrun::jit
