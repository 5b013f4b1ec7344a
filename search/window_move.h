#pragma once

#include <optional>
#include <vector>

#include "ir/program.h"

namespace axrun::search {

/// How an axis of the result moves over an operand: with stride * o + tap * k + start, within 0 <= ... <
/// extent.
struct WindowMove {
  int axis = ir::none;      ///< of the result
  int tap_axis = ir::none;  ///< of the reduction, numbered on from its axes
  int64_t length = 1;       ///< of the result
  int64_t taps = 1;
  int64_t stride = 1, tap = 1, start = 0;
  int64_t extent = 1;  ///< of the operand

  /// Taps that are inside, as first <= k < first + count.
  ir::Dim first(const ir::Dim& o) const;
  ir::Dim count(const ir::Dim& o) const;
  /// The same of all points together; 0 where some point has none.
  int64_t total() const;

  bool moves(int of) const { return of == axis || of == tap_axis; }
};

/// How `index` moves with an axis of a stage and one of its reduce axes. Nothing where it moves with others,
/// backwards along the result, or where something is no literal.
std::optional<WindowMove> window_move(const ir::Program& program, const ir::Stage& stage, int axis,
                                      int tap_number, ir::ExprId index, const ir::Dim& extent);

/// The comparisons that a guard asks for, all of them; nothing where it is made of anything else.
std::optional<std::vector<ir::ExprId>> comparisons_of(const ir::Program& program, ir::ExprId guard);

/// Whether a comparison depends on the move alone, and holds for every tap that is inside.
bool holds_inside(const ir::Program& program, ir::ExprId comparison, const WindowMove& move);

}  // namespace axrun::search
