#pragma once

#include <map>
#include <string>

#include "ir/loop/loop_program.h"

namespace axrun::jit {

/// About how many operations of vector lanes a loop takes at these sizes, to compare with what it takes to
/// hand work over to other threads. Statements outside of vector loops count as several; extents that depend
/// on variables of other loops are those of the first iterations.
double lanes_computed(const ir::loop::Loop& loop, const std::map<std::string, ir::Dim>& sizes);

}  // namespace axrun::jit
