#pragma once

#include "ir/program.h"

namespace axrun::ir {

/// The expression with operations on f32 and f64 replaced by cheaper ones of the same value: pow with the literal
/// exponents 1, 2, 3 and -1 by products and a quotient, division by a literal power of two by a product; and
/// casts and arithmetic of literals by literals; sums of integers and 0 by
/// the integers.
ir::Program use_cheaper_scalars(const ir::Program& program);

}  // namespace axrun::ir
