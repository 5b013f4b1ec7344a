#pragma once

#include <set>
#include <string>

#include "jit/layout.h"

namespace axrun::jit {

/// Names in the extents, indices, values and buffers of a phase: its loop variables, and the sizes that it
/// depends on.
std::set<std::string> names_in(const ir::loop::LoopProgram& program, const Phase& phase);

}  // namespace axrun::jit
