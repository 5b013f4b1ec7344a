#pragma once

#include "ir/program.h"

namespace axrun::search {

/// The expression with adjacent axes merged wherever every access allows it: an elementwise chain over
/// [2, 128, 768] becomes one over [196608]. Dims of tensors are merged along, those of operands and outputs
/// too: their memory is the same. For programs of maps and simple reductions without axes of extent 1.
///
/// Two axes of a stage merge when every index, and every other use of them, reads them as
/// outer * extent(inner) + inner only, or compares the outer one with what depends on no axis, and at most
/// one extent is no literal; two dims of a tensor merge when every stage that touches them merges the axes
/// that it touches them with, or is a sum of products that reads whole lines one after another.
ir::Program merge_axes(const ir::Program& program);

}  // namespace axrun::search
