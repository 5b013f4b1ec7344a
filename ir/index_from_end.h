#pragma once

#include <optional>

#include "ir/program.h"

namespace axrun::ir {

/// The load x of an i32 or i64, without a guard, where the expression is select(x < 0, x + extent, x): an
/// index that is data, and counts from the end where it is negative. The inverse of how operators that gather
/// write it.
std::optional<ExprId> index_from_end(const Program& program, ExprId id, const Dim& extent);

}  // namespace axrun::ir
