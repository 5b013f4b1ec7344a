#pragma once

#include <cstdint>

#include "tests/verify/loop_cases.h"

namespace axrun::tests {

/// A valid loop program drawn at random: kind of expression, sizes (literal or claimed ranges, small enough to
/// be interpreted), tiles, order of loops, packing, tails and epilogue.
LoopCase random_schedule(uint64_t seed);

}  // namespace axrun::tests
