#pragma once

#include "ir/program.h"

namespace axrun::search {

/// The expression with f64 replaced by f32 where every value stays what it is, to the bit. Of arguments that
/// f32 holds, minima, roundings to integers and comparisons are the same in either; sums, products, quotients
/// and square roots are where they are rounded to f32 next: f64 has more than twice the digits of f32, so
/// that rounding twice is rounding once (Figueroa, "When is double rounding innocuous?", 1995).
ir::Program narrow_floats(const ir::Program& program);

}  // namespace axrun::search
