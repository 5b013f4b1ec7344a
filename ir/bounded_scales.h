#pragma once

#include <vector>

#include "ir/program.h"
#include "ir/tensor.h"

namespace axrun::ir {

/// What bounded_scales puts around a scale.
constexpr double least_scale = 0x1p-40, largest_scale = 0x1p40;

/// The program with bounds around what integers are multiplied by, max(min(x, largest), least) in place of x,
/// where all elements of an operand of f32 are known to lie within these: values[k] is that of operand k, or
/// null. With other values the program would compute something else; but whatever they are, these factors are
/// finite, and products of few of them neither overflow nor lose digits.
Program bounded_scales(const Program& program, const std::vector<const Tensor*>& values);

}  // namespace axrun::ir
