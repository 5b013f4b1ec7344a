#include "search/product_form.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "ir/grammar.h"
#include "ir/linear.h"
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

std::vector<ExprId> places_read(const Program& program, const std::vector<ExprId>& ids) {
  std::vector<ExprId> found;
  for (const ExprId id : ir::reachable(program, ids)) {
    const Expr& expr = program.exprs[static_cast<size_t>(id)];
    const bool compares = expr.op >= ir::ScalarOp::equal && expr.op <= ir::ScalarOp::greater_equal;
    if (expr.op == ir::ScalarOp::load) found.insert(found.end(), expr.indices.begin(), expr.indices.end());
    if (compares) found.insert(found.end(), {expr.args[0], expr.args[1]});
    if (expr.op == ir::ScalarOp::cast) return {};
  }
  return found;
}

int64_t shift_of_terms(const Program& program, const ProductForm& form) {
  const int last = static_cast<int>(form.sum->axes.size() + form.sum->reduce_axes.size()) - 1;
  std::optional<int64_t> shift;
  for (const ExprId id : places_read(program, form.right)) {
    const auto linear = ir::linear_form(program, id);
    if (!linear) return 0;
    const Dim column = linear->coefficient(form.column), step = linear->coefficient(last);
    if (column == Dim(0) && step == Dim(0)) continue;
    if (!column.is_constant() || !step.is_constant() || column == Dim(0)) return 0;
    const int64_t here = step.value() / column.value();
    if (here < 1 || here * column.value() != step.value() || here != shift.value_or(here)) return 0;
    shift = here;
  }
  return shift.value_or(0);
}

namespace {

/// Whether a guard holds only where the index is below a bound.
bool keeps_below(const Program& program, ExprId guard, const ir::Linear& index, const Dim& bound) {
  const Expr& expr = expr_of(program, guard);
  if (expr.op == ScalarOp::logical_and)
    return keeps_below(program, expr.args[0], index, bound) ||
           keeps_below(program, expr.args[1], index, bound);
  if (expr.op < ScalarOp::less || expr.op > ScalarOp::greater_equal) return false;
  const auto margin = ir::margin_of(program, expr);
  if (!margin) return false;
  ir::Linear below = index * Dim(-1);
  below.constant = below.constant + bound - 1;
  return *margin == below;
}

}  // namespace

bool columns_are_guarded(const Program& program, const ProductForm& form) {
  for (const ExprId factor : form.right) {
    for (const ExprId id : loads_of(program, factor)) {
      const Expr& load = expr_of(program, id);
      const Dims& dims = program.tensors[static_cast<size_t>(load.integer)].dims;
      for (size_t d = 0; d < dims.size(); ++d) {
        const auto index = ir::linear_form(program, load.indices[d]);
        if (!index) return false;
        const Dim column = index->coefficient(form.column);
        if (column == Dim(0)) continue;
        const bool grows = column.is_constant() && column.value() > 0;
        if (!grows || load.args[0] == ir::none || !keeps_below(program, load.args[0], *index, dims[d]))
          return false;
      }
    }
  }
  return true;
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
