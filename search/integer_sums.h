#pragma once

#include "ir/program.h"

namespace axrun::search {

/// The expression with sums of products of floats that maps make of integers, (a[k] * s) * (b[k] * t), as
/// factors s and t times sums of products of the integers in i32: where the types of what is read say that
/// these fit, and the factors are literals or the same for all k and between bounds (ir/bounded_scales.h). For
/// programs of maps and simple reductions.
///
/// bytes: of a[k] = x[k] - z with bytes x and a literal z, only x is multiplied, by signed bytes b; sums of
/// z * b are subtracted.
ir::Program use_integer_sums(const ir::Program& program, bool bytes);

}  // namespace axrun::search
