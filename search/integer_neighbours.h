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
/// Rows of a tile of so many vectors each: next to the sums, registers hold a row of one side, an element of
/// the other and products. Of those with the fewest rows that do not exist the tallest one.
int64_t tile_rows(const jit::Target& target, int64_t vectors, int64_t rows);

/// Terms of a sum, so many; several in an iteration: counting them would take as long as a fourth of the
/// work.
void a_few_at_a_time(LoopWriter& writer, int64_t terms, const LoopWriter::Body& term);

/// An element as i32.
int widened(LoopWriter& writer, const ir::loop::Access& access);

}  // namespace axrun::search
