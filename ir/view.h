#pragma once

#include <optional>
#include <vector>

#include "ir/program.h"

namespace axrun::ir {

/// An index expression as a sum: constant + sum of coefficients[a] * axis a of its stage.
struct AffineIndex {
  int64_t constant = 0;
  std::vector<int64_t> coefficients;
};

/// Empty when the expression is not affine in the stage's axes with constant coefficients.
std::optional<AffineIndex> affine_index(const Program& program, const Stage& stage, ExprId id);

/// The operand position whose elements, in row-major order, are exactly the elements of output 0 (Reshape,
/// Squeeze, Identity, a Transpose that only moves dims of size 1), whatever the named sizes are; -1 when there
/// is none, or that depends on them.
int viewed_operand(const Program& program);
/// Whether output 0 is made of elements of one tensor, each where an index says: what is no view otherwise.
bool only_moves(const Program& program);

}  // namespace axrun::ir
