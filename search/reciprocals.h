#pragma once

#include "ir/program.h"

namespace axrun::search {

/// Quotients x / d whose divisor is the same along the innermost axis of the stage, and of which either side
/// is computed from a reduction, become x * (1 / d): one division for a row instead of one for each element
/// (the normalisations' deviation, softmax's total, averages). For programs of maps and simple reductions.
ir::Program use_reciprocals(const ir::Program& program);

}  // namespace axrun::search
