#include "search/window_move.h"

#include "ir/dim_polynomial.h"
#include "ir/linear.h"

namespace axrun::search {

using ir::Dim;
using ir::Expr;
using ir::ExprId;
using ir::Program;
using ir::ScalarOp;

Dim WindowMove::first(const Dim& o) const {
  const Dim before = Dim(0) - (Dim(stride) * o + Dim(start));
  const Dim past = Dim(0) - before - Dim(extent - 1);
  return max(tap > 0 ? ceil_div(before, Dim(tap)) : ceil_div(past, Dim(-tap)), Dim(0));
}

Dim WindowMove::count(const Dim& o) const {
  const Dim place = Dim(stride) * o + Dim(start);
  const Dim last = tap > 0 ? floor_div(Dim(extent - 1) - place, Dim(tap)) : floor_div(place, Dim(-tap));
  return min(last + 1, Dim(taps)) - first(o);
}

int64_t WindowMove::total() const {
  int64_t sum = 0;
  for (int64_t o = 0; o < length; ++o) {
    const int64_t here = count(o).value();
    if (here <= 0) return 0;
    sum += here;
  }
  return sum;
}

std::optional<WindowMove> window_move(const Program& program, const ir::Stage& stage, int axis,
                                      int tap_number, ExprId index, const Dim& extent) {
  WindowMove move;
  move.axis = axis;
  move.tap_axis = static_cast<int>(stage.axes.size()) + tap_number;
  const auto linear = ir::linear_form(program, index);
  if (!linear || linear->coefficients.size() != 2) return std::nullopt;
  const auto length = stage.axes[static_cast<size_t>(axis)].extent.constant();
  const auto taps = stage.reduce_axes[static_cast<size_t>(tap_number)].extent.constant();
  const auto stride = linear->coefficient(axis).constant(),
             tap = linear->coefficient(move.tap_axis).constant();
  const auto start = linear->constant.constant(), exists = extent.constant();
  if (!length || !taps || !stride || !tap || !start || !exists) return std::nullopt;
  move.length = *length;
  move.taps = *taps;
  move.stride = *stride;
  move.tap = *tap;
  move.start = *start;
  move.extent = *exists;
  if (move.stride < 1 || move.tap == 0) return std::nullopt;
  return move;
}

std::optional<std::vector<ExprId>> comparisons_of(const Program& program, ExprId guard) {
  const Expr& expr = program.exprs[static_cast<size_t>(guard)];
  if (expr.op >= ScalarOp::less && expr.op <= ScalarOp::greater_equal) return std::vector<ExprId>{guard};
  if (expr.op != ScalarOp::logical_and) return std::nullopt;
  auto all = comparisons_of(program, expr.args[0]);
  const auto others = comparisons_of(program, expr.args[1]);
  if (!all || !others) return std::nullopt;
  all->insert(all->end(), others->begin(), others->end());
  return all;
}

bool holds_inside(const Program& program, ExprId comparison, const WindowMove& move) {
  const auto margin = ir::margin_of(program, program.exprs[static_cast<size_t>(comparison)]);
  if (!margin) return false;
  for (const auto& [axis, coefficient] : margin->coefficients) {
    if (!move.moves(axis) || !coefficient.is_constant()) return false;
  }
  const auto start = margin->constant.constant();
  if (!start) return false;
  const int64_t by_point = margin->coefficient(move.axis).value(),
                by_tap = margin->coefficient(move.tap_axis).value();
  for (int64_t o = 0; o < move.length; ++o) {
    const int64_t first = move.first(o).value(), count = move.count(o).value();
    if (count <= 0) continue;
    // A comparison that holds at both ends does in between.
    for (const int64_t k : {first, first + count - 1}) {
      if (by_point * o + by_tap * k + *start < 0) return false;
    }
  }
  return true;
}

}  // namespace axrun::search
