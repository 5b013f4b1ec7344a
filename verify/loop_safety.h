#pragma once

#include "verify/loop_nest.h"

namespace axrun::verify {

/// What a loop program must not do, whatever it computes. Each throws Unproved at the first obligation that
/// does not go through, and returns how many did.

/// No loop has a negative number of iterations, no buffer a negative size.
int prove_extents(const LoopNest& nest, Solver& solver);
/// Every element that is read (where its guard holds) or written is one of its buffer.
int prove_bounds(const LoopNest& nest, Solver& solver);
/// No integer is divided by 0: in iterations whose values are not used, that would still end the process.
int prove_divisors(const LoopNest& nest, Solver& solver);
/// Every element of a scratch buffer or output that is read has been written.
int prove_written(const LoopNest& nest, Solver& solver);
/// Where a statement says which point it computes, its inverse gives the loop variables back.
int prove_inverses(const LoopNest& nest, Solver& solver);
/// No two iterations of a parallel loop touch the same element of a buffer that both see if one of them
/// writes it. The same of vector loops: then lanes may be computed at the same time, statement by statement.
/// There only, several lanes may combine into one element, all in the same way.
int prove_no_races(const LoopNest& nest, Solver& solver, ir::loop::LoopKind kind);

}  // namespace axrun::verify
