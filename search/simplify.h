#pragma once

#include "ir/program.h"
#include "search/size_facts.h"

namespace axrun::search {

/// An expression as schedules want it: without dead stages, axes of extent 1 and copies, with few long axes.
/// Operands and outputs keep their positions, types and memory; their dims may be merged. For programs of
/// maps and simple reductions.
/// integers: sums of floats that are made of integers become sums of these where they can (integer_sums).
ir::Program simplify(const ir::Program& expression, const SizeFacts& facts, bool integers = false);

}  // namespace axrun::search
