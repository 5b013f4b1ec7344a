#include "search/product_form.h"

#include <algorithm>
#include <map>
#include <string>

#include "ir/grammar.h"
#include "search/stage_values.h"

namespace axrun::search {

using ir::Dim;
using ir::Dims;
using ir::Expr;
using ir::ExprId;
using ir::Program;
using ir::ScalarOp;
using ir::Stage;

namespace {

const Expr& expr_of(const Program& program, ExprId id) { return program.exprs[static_cast<size_t>(id)]; }

void factors_of(const Program& program, ExprId id, std::vector<ExprId>& factors) {
  const Expr& expr = expr_of(program, id);
  if (expr.op != ScalarOp::mul) return factors.push_back(id);
  factors_of(program, expr.args[0], factors);
  factors_of(program, expr.args[1], factors);
}

bool depends(const Program& program, const std::vector<ExprId>& ids, int axis) {
  return std::any_of(ids.begin(), ids.end(),
                     [&](ExprId id) { return axes_of(program, id).count(axis) != 0; });
}

/// The axis of `sum` that each axis of the map is, when it reads the sum at a permutation of its own axes
/// (and at 0 along axes of extent 1).
std::string match_epilogue(const Program& program, ProductForm& form) {
  const Stage& sum = *form.sum;
  const Stage& map = *form.epilogue;
  const Dims point = symbolic_point(map);
  form.epilogue_axes.assign(map.axes.size(), -1);
  bool seen = false;
  for (const ExprId load : loads_of(program, map.body[0])) {
    const Expr& read = expr_of(program, load);
    if (static_cast<ir::TensorId>(read.integer) != sum.results[0]) continue;
    if (read.args[0] != ir::none) return "the map reads the sum under a guard";
    std::vector<int> axes(map.axes.size(), -1);
    for (size_t d = 0; d < read.indices.size(); ++d) {
      if (sum.groups[d].empty()) continue;
      if (sum.groups[d].size() != 1) return "the sum's result is reshaped";
      const int axis = sum.groups[d][0];
      const auto index = index_at(program, read.indices[d], point);
      if (index && *index == Dim(0) && sum.axes[static_cast<size_t>(axis)].extent == Dim(1)) continue;
      const auto own =
          std::find_if(point.begin(), point.end(), [&](const Dim& a) { return index && *index == a; });
      if (own == point.end()) return "the map does not read the sum element by element";
      const auto position = static_cast<size_t>(own - point.begin());
      if (axes[position] != -1) return "the map reads a diagonal of the sum";
      if (map.axes[position].extent != sum.axes[static_cast<size_t>(axis)].extent)
        return "the map reads a part of the sum";
      axes[position] = axis;
    }
    if (seen && axes != form.epilogue_axes) return "the map reads the sum in two ways";
    form.epilogue_axes = axes;
    seen = true;
  }
  if (!seen) return "the map does not read the sum";
  for (size_t k = 0; k < map.axes.size(); ++k) {
    if (form.epilogue_axes[k] == -1 && map.axes[k].extent != Dim(1)) return "the map repeats the sum";
  }
  return {};
}

}  // namespace

FoundProduct find_product(const Program& program, const Stage& sum, const Stage* epilogue,
                          const std::vector<bool>& constant) {
  FoundProduct result;
  ProductForm& form = result.form;
  form.sum = &sum;
  form.epilogue = epilogue;
  const auto no = [&](const std::string& reason) {
    result.reason = reason;
    return result;
  };
  if (sum.kind != ir::StageKind::reduce || sum.monoid.kind != ir::Monoid::Kind::sum) return no("not a sum");
  if (sum.reduce_axes.empty()) return no("a sum over nothing");
  if (expr_of(program, sum.body[0]).type != ir::ElementType::f32) return no("not a sum of f32");
  if (epilogue != nullptr) {
    const std::string reason = match_epilogue(program, form);
    if (!reason.empty()) return no(reason);
  }

  // Axes of the sum in the order of the result's memory.
  std::vector<int> order;
  for (size_t k = 0; k < form.last().axes.size(); ++k) {
    const int axis = epilogue != nullptr ? form.epilogue_axes[k] : static_cast<int>(k);
    if (axis != -1 && sum.axes[static_cast<size_t>(axis)].extent != Dim(1)) order.push_back(axis);
  }
  if (order.empty()) return no("a single element");
  form.column = order.back();
  order.pop_back();

  std::vector<ExprId> factors;
  factors_of(program, sum.body[0], factors);
  for (const ExprId factor : factors) {
    (axes_of(program, factor).count(form.column) != 0 ? form.right : form.left).push_back(factor);
  }
  if (form.left.empty() || form.right.empty()) return no("not a product of two sides");
  const int depth = static_cast<int>(sum.axes.size() + sum.reduce_axes.size()) - 1;
  if (!depends(program, form.left, depth) || !depends(program, form.right, depth)) {
    return no("one side does not vary along the sum");
  }

  for (const int axis : order) {
    if (depends(program, form.left, axis) && !depends(program, form.right, axis)) form.row = axis;
  }
  for (const int axis : order) {
    if (axis != form.row) form.outer.push_back(axis);
  }

  form.right_constant = true;
  for (const ExprId factor : form.right) {
    for (const ExprId load : loads_of(program, factor)) {
      const auto tensor = static_cast<size_t>(expr_of(program, load).integer);
      form.right_constant = form.right_constant && constant[tensor];
    }
  }
  result.found = true;
  return result;
}

bool columns_are_contiguous(const Program& program, const ProductForm& form) {
  if (form.right.size() != 1) return false;
  const Expr& expr = program.exprs[static_cast<size_t>(form.right[0])];
  if (expr.op != ir::ScalarOp::load || expr.args[0] != ir::none || expr.indices.empty()) return false;
  const ir::Dims point = symbolic_point(*form.sum);
  const Dim& column = point[static_cast<size_t>(form.column)];
  for (size_t d = 0; d + 1 < expr.indices.size(); ++d) {
    if (axes_of(program, expr.indices[d]).count(form.column) != 0) return false;
  }
  const auto last = index_at(program, expr.indices.back(), point);
  if (!last) return false;
  std::map<std::string, Dim> first;
  first["a" + std::to_string(form.column)] = Dim(0);
  return *last - last->substitute(first) == column;
}

}  // namespace axrun::search
