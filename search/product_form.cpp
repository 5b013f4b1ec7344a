#include "search/product_form.h"

#include <algorithm>
#include <map>
#include <string>

#include "search/epilogue.h"
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

bool depends(const Program& program, const std::vector<ExprId>& ids, int axis) {
  return std::any_of(ids.begin(), ids.end(),
                     [&](ExprId id) { return axes_of(program, id).count(axis) != 0; });
}

/// So few elements are not worth a vector, or a tile's rows, where there is another axis for these.
constexpr int64_t few = 4;

bool is_short(const Stage& sum, int axis) {
  const auto extent = sum.axes[static_cast<size_t>(axis)].extent.constant();
  return extent && *extent <= few;
}

/// Whether the only factor is a load whose last index alone is the column, or differs from it by what does
/// not depend on it.
bool are_contiguous(const Program& program, const Stage& sum, const std::vector<ExprId>& factors,
                    int column) {
  if (factors.size() != 1) return false;
  const Expr& expr = expr_of(program, factors[0]);
  if (expr.op != ScalarOp::load || expr.args[0] != ir::none || expr.indices.empty()) return false;
  const Dims point = symbolic_point(sum);
  for (size_t d = 0; d + 1 < expr.indices.size(); ++d) {
    if (axes_of(program, expr.indices[d]).count(column) != 0) return false;
  }
  const auto last = index_at(program, expr.indices.back(), point);
  if (!last) return false;
  std::map<std::string, Dim> first;
  first["a" + std::to_string(column)] = Dim(0);
  return *last - last->substitute(first) == point[static_cast<size_t>(column)];
}

/// Which of the axes, in order of the result's memory, is the column.
int column_of(const Program& program, const Stage& sum, const std::vector<int>& order) {
  const int last = order.back();
  if (order.size() < 2 || !is_short(sum, last)) return last;
  const int before = order[order.size() - 2];
  if (is_short(sum, before)) return last;
  std::vector<ExprId> right;
  for (const ExprId factor : factors_of(program, sum.body[0])) {
    if (axes_of(program, factor).count(before) != 0) right.push_back(factor);
  }
  const bool apart = depends(program, right, last) || !are_contiguous(program, sum, right, before);
  return apart ? last : before;
}

}  // namespace

std::vector<ExprId> factors_of(const Program& program, ExprId id) {
  const Expr& expr = expr_of(program, id);
  if (expr.op != ScalarOp::mul) return {id};
  std::vector<ExprId> factors = factors_of(program, expr.args[0]);
  const std::vector<ExprId> others = factors_of(program, expr.args[1]);
  factors.insert(factors.end(), others.begin(), others.end());
  return factors;
}

FoundProduct find_product(const Program& program, const Stage& sum, const Stage* epilogue,
                          const std::vector<bool>& constant, ir::ElementType type) {
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
  if (expr_of(program, sum.body[0]).type != type) return no("not a sum of " + std::string(name_of(type)));
  if (epilogue != nullptr) {
    MatchedEpilogue matched = match_epilogue(program, sum, *epilogue);
    if (!matched.reason.empty()) return no(matched.reason);
    form.epilogue_axes = std::move(matched.axes);
  }

  std::vector<int> order = axes_in_memory_order(sum, epilogue, form.epilogue_axes);
  if (order.empty()) return no("a single element");
  form.column = column_of(program, sum, order);
  order.erase(std::find(order.begin(), order.end(), form.column));

  for (const ExprId factor : factors_of(program, sum.body[0])) {
    (axes_of(program, factor).count(form.column) != 0 ? form.right : form.left).push_back(factor);
  }
  if (form.left.empty() || form.right.empty()) return no("not a product of two sides");
  const int depth = static_cast<int>(sum.axes.size() + sum.reduce_axes.size()) - 1;
  if (!depends(program, form.left, depth) || !depends(program, form.right, depth)) {
    return no("one side does not vary along the sum");
  }

  for (const int axis : order) {
    if (!depends(program, form.left, axis) || depends(program, form.right, axis)) continue;
    if (form.row == ir::none || !is_short(sum, axis) || is_short(sum, form.row)) form.row = axis;
  }
  for (const int axis : order) {
    if (axis != form.row) form.outer.push_back(axis);
  }

  form.left_constant = is_constant(program, form.left, constant);
  form.right_constant = is_constant(program, form.right, constant);
  result.found = true;
  return result;
}

bool is_constant(const Program& program, const std::vector<ExprId>& ids, const std::vector<bool>& constant) {
  for (const ExprId id : ids) {
    for (const ExprId load : loads_of(program, id)) {
      if (!constant[static_cast<size_t>(expr_of(program, load).integer)]) return false;
    }
  }
  return true;
}

bool columns_are_contiguous(const Program& program, const ProductForm& form) {
  return are_contiguous(program, *form.sum, form.right, form.column);
}

}  // namespace axrun::search
