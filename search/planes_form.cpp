#include "search/planes_form.h"

#include <algorithm>

#include "ir/dim_polynomial.h"
#include "ir/grammar.h"
#include "search/stage_values.h"
#include "search/uniform_parts.h"

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

namespace {

const Expr& expr_of(const Program& program, ExprId id) { return program.exprs[static_cast<size_t>(id)]; }

/// The load that varies within a plane, if it is the only one.
const Expr* load_of_planes(const Program& program, const WindowsForm& form) {
  const Expr* found = nullptr;
  for (const ExprId load : loads_of(program, form.reduction->body[0])) {
    const std::set<int> axes = axes_of(program, load);
    if (axes.count(form.row) == 0 && axes.count(form.column) == 0) continue;
    if (found != nullptr) return nullptr;
    found = &expr_of(program, load);
  }
  return found;
}

std::optional<WindowMove> move_along(const Program& program, const ir::Stage& stage, int axis, int tap_number,
                                     ExprId index, const Dim& extent) {
  WindowMove move;
  move.axis = axis;
  move.tap_axis = static_cast<int>(stage.axes.size()) + tap_number;
  const auto linear = linear_form(program, index);
  const auto length = stage.axes[static_cast<size_t>(axis)].extent.constant();
  const auto stride = linear->coefficient(axis).constant(),
             tap = linear->coefficient(move.tap_axis).constant();
  const auto start = linear->constant.constant(), exists = extent.constant();
  if (!length || !stride || !tap || !start || !exists || linear->coefficients.size() != 2)
    return std::nullopt;
  move.length = *length;
  move.taps = stage.reduce_axes[static_cast<size_t>(tap_number)].extent.value();
  move.stride = *stride;
  move.tap = *tap;
  move.start = *start;
  move.extent = *exists;
  if (move.stride < 1 || move.tap == 0 || move.total() == 0) return std::nullopt;
  return move;
}

/// The product of a load and factors, in any order; nothing for other expressions.
bool is_product_of(const Program& program, ExprId id, const Expr* load, const std::vector<ExprId>& factors) {
  const Expr& expr = expr_of(program, id);
  if (&expr == load || std::find(factors.begin(), factors.end(), id) != factors.end()) return true;
  return expr.op == ScalarOp::mul && is_product_of(program, expr.args[0], load, factors) &&
         is_product_of(program, expr.args[1], load, factors);
}

}  // namespace

std::optional<PlanesForm> planes_of(const Program& program, const WindowsForm& form,
                                    const std::vector<bool>& constant) {
  const ir::Stage& stage = *form.reduction;
  if (form.row == ir::none || form.row_taps.size() != 1 || form.column_taps.size() != 1 ||
      !form.other_taps.empty() || form.outer.empty())
    return std::nullopt;
  const Expr* load = load_of_planes(program, form);
  if (load == nullptr || load->indices.size() < 3) return std::nullopt;

  PlanesForm planes;
  planes.plane = form.outer.back();
  planes.outer.assign(form.outer.begin(), form.outer.end() - 1);
  planes.operand = static_cast<ir::TensorId>(load->integer);
  const ir::Dims& dims = program.tensors[static_cast<size_t>(planes.operand)].dims;
  const size_t rank = load->indices.size();
  int of_plane = 0;
  for (size_t d = 0; d < rank; ++d) {
    const std::set<int> axes = axes_of(program, load->indices[d]);
    if (d + 2 >= rank || axes.count(planes.plane) == 0) continue;
    const auto linear = linear_form(program, load->indices[d]);
    if (!linear || linear->single_axis() != planes.plane) return std::nullopt;
    ++of_plane;
  }
  if (of_plane != 1) return std::nullopt;
  const auto row =
      move_along(program, stage, form.row, form.row_taps[0], load->indices[rank - 2], dims[rank - 2]);
  const auto column =
      move_along(program, stage, form.column, form.column_taps[0], load->indices[rank - 1], dims[rank - 1]);
  if (!row || !column) return std::nullopt;
  planes.row = *row;
  planes.column = *column;

  planes.factors = uniform_parts(program, stage.body[0], {form.row, form.column}, 0);
  if (!planes.factors.empty() && stage.monoid.kind != ir::Monoid::Kind::sum) return std::nullopt;
  if (!is_product_of(program, stage.body[0], load, planes.factors)) return std::nullopt;
  for (const ExprId factor : planes.factors) {
    for (const int axis : axes_of(program, factor)) {
      if (std::count(planes.outer.begin(), planes.outer.end(), axis) != 0) return std::nullopt;
    }
    for (const ExprId read : loads_of(program, factor)) {
      if (!constant[static_cast<size_t>(expr_of(program, read).integer)]) return std::nullopt;
    }
  }
  if (load->args[0] == ir::none) return planes;
  for (const ExprId id : ir::reachable(program, {load->args[0]})) {
    const ScalarOp op = expr_of(program, id).op;
    if (op == ScalarOp::logical_or || op == ScalarOp::logical_not) return std::nullopt;
    if (op >= ScalarOp::less && op <= ScalarOp::greater_equal) planes.guards.push_back(id);
  }
  return planes;
}

}  // namespace axrun::search
