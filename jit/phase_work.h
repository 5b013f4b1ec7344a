#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/loop/loop_program.h"

namespace axrun::jit {

/// So many operations of vector lanes in every iteration of all of the loops.
struct LaneTerm {
  struct Loop {
    ir::Dim extent;
    int64_t step = 1;
  };
  double lanes = 0;
  std::vector<Loop> loops;
};

/// About how many operations of vector lanes a loop takes, as a sum, to compare with what it takes to hand
/// work over to other threads. Statements outside of vector loops count as several; extents that depend on
/// variables of other loops are those of the first iterations. fixed: sizes whose values are known.
std::vector<LaneTerm> lanes_of(const ir::loop::Loop& loop, const std::map<std::string, ir::Dim>& fixed = {});
/// Of a loop.
double iterations_of(int64_t extent, int64_t step);

}  // namespace axrun::jit
