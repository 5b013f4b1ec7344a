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

const Expr& expr_of(const Program& program, ExprId id) { return program.exprs[static_cast<size_t>(id)]; }

bool depends(const Program& program, const std::vector<ExprId>& ids, int axis) {
  return std::any_of(ids.begin(), ids.end(),
                     [&](ExprId id) { return axes_of(program, id).count(axis) != 0; });
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
    MatchedEpilogue matched = match_epilogue(program, sum, *epilogue);
    if (!matched.reason.empty()) return no(matched.reason);
    form.epilogue_axes = std::move(matched.axes);
  }

  std::vector<int> order = axes_in_memory_order(sum, epilogue, form.epilogue_axes);
  if (order.empty()) return no("a single element");
  form.column = order.back();
  order.pop_back();

  for (const ExprId factor : factors_of(program, sum.body[0])) {
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
