#pragma once

#include "verify/last_writes.h"

namespace axrun::verify {

/// What writes_so_far found of an element that starts at 0, where one statement multiplies it and others add
/// to it, in a loop that they share.
struct RescaledLoop {
  size_t depth = 0;  ///< of that loop among those around them
  Term last;         ///< factors are of its iterations from 0 to this one, which may be -1
  TermList times;    ///< the iterations of those that add, by contribution
  Contribution factor;
  std::vector<Contribution> added;
};

/// Checks that every iteration multiplies once, up to the last, and that in an iteration it comes before what
/// is added. Throws Unproved.
RescaledLoop rescaled_loop(const LoopNest& nest, Solver& solver, const TermList& facts,
                           const Instance& reader, const std::vector<Contribution>& contributions);

}  // namespace axrun::verify
