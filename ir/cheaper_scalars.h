#pragma once

#include "ir/program.h"

namespace axrun::ir {

/// The expression with operations on f32 replaced by cheaper ones of the same value: pow with the literal
/// exponents 1, 2, 3 and -1 by products and a quotient, division by a literal power of two by a product,
/// casts of literals by literals.
ir::Program use_cheaper_scalars(const ir::Program& program);

}  // namespace axrun::ir
