#pragma once

#include "ir/program.h"

namespace axrun::search {

/// The expression with sums of products of floats that maps make of integers, (a[k] * s) * (b[k] * t) with
/// literal factors s and t, as these factors times sums of products of the integers
/// in i32: where the types of what is read say that these fit. For programs of maps and simple reductions.
ir::Program use_integer_sums(const ir::Program& program);

}  // namespace axrun::search
