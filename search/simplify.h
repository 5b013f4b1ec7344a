#pragma once

#include <cstdint>

#include "ir/program.h"
#include "search/size_facts.h"

namespace axrun::search {

/// What sums of floats that are made of integers become where they can (integer_sums).
enum class IntegerSums : uint8_t { none, words, bytes };

/// An expression as schedules want it: without dead stages, axes of extent 1 and copies, with few long axes.
/// Operands and outputs keep their positions, types and memory; their dims may be merged. For programs of
/// maps and simple reductions.
ir::Program simplify(const ir::Program& expression, const SizeFacts& facts,
                     IntegerSums integers = IntegerSums::none);

}  // namespace axrun::search
