#pragma once

#include "search/piece.h"

namespace axrun::search {

/// How many neighbours along a sum of products of small integers one instruction multiplies and adds, and as
/// what they lie next to each other: pairs of words, or four bytes where the target has that and both sides
/// fit.
struct Neighbours {
  int64_t count;
  ir::ElementType left, right;
};
/// depth: of the axis of the sum along which they lie.
Neighbours neighbours_of(const PieceContext& context, ir::ExprId left, ir::ExprId right, int64_t depth);

/// The value of an integer expression of a stage at a point, as `type`, which holds it.
int narrowed(PieceContext& context, ir::ExprId id, ir::ElementType type, const ir::Dims& point);
/// An element as i32.
int widened(LoopWriter& writer, const ir::loop::Access& access);

}  // namespace axrun::search
