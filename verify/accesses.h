#pragma once

#include <vector>

#include "verify/loop_nest.h"

namespace axrun::verify {

/// An access of a statement, at variables of its loops.
struct Touch {
  const ir::loop::Access* access = nullptr;
  bool writes = false;
  TermList guards;  ///< beyond the loops' domains: what holds where it happens
};

/// Everything that a statement reads and writes: loads of its value, and its target, which a combining
/// statement reads as well (then it occurs twice).
std::vector<Touch> touches(const LoopNest& nest, const Instance& at);

/// The divisors of its integer divisions, by number of the value.
std::vector<int> integer_divisors(const LoopNest& nest, int leaf);

}  // namespace axrun::verify
