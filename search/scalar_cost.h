#pragma once

#include "ir/program.h"

namespace axrun::search {

/// About how many simple vector operations an expression takes at one point, each shared part once. Loads,
/// literals and index arithmetic are free.
double scalar_cost(const ir::Program& program, ir::ExprId id);

}  // namespace axrun::search
