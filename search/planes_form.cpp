#include "search/planes_form.h"

#include <algorithm>

#include "ir/dim_polynomial.h"
#include "ir/grammar.h"
#include "search/monoid_values.h"
#include "search/stage_values.h"
#include "search/uniform_parts.h"

namespace axrun::search {

using ir::Dim;
using ir::Expr;
using ir::ExprId;
using ir::Program;
using ir::ScalarOp;

namespace {

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
    const auto linear = ir::linear_form(program, load->indices[d]);
    if (!linear || linear->single_axis() != planes.plane) return std::nullopt;
    ++of_plane;
  }
  if (of_plane != 1) return std::nullopt;
  const auto row =
      window_move(program, stage, form.row, form.row_taps[0], load->indices[rank - 2], dims[rank - 2]);
  const auto column =
      window_move(program, stage, form.column, form.column_taps[0], load->indices[rank - 1], dims[rank - 1]);
  if (!row || !column || row->total() == 0 || column->total() == 0) return std::nullopt;
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
  // Without factors nothing else stands for what is outside.
  if (planes.factors.empty() && !is_identity(program, load->args[1], stage.monoid.kind)) return std::nullopt;
  const auto guards = comparisons_of(program, load->args[0]);
  if (!guards) return std::nullopt;
  for (const ExprId guard : *guards) {
    if (!holds_inside(program, guard, planes.row) && !holds_inside(program, guard, planes.column))
      return std::nullopt;
  }
  planes.guards = *guards;
  return planes;
}

}  // namespace axrun::search
