#include "search/gathered_form.h"

#include <algorithm>

#include "ir/linear.h"
#include "search/epilogue.h"
#include "search/product_form.h"
#include "search/stage_values.h"
#include "search/windows_form.h"

namespace axrun::search {

using ir::Expr;
using ir::ExprId;
using ir::Program;
using ir::Stage;

namespace {

bool depends(const Program& program, const std::vector<ExprId>& ids, int axis) {
  return std::any_of(ids.begin(), ids.end(),
                     [&](ExprId id) { return axes_of(program, id).count(axis) != 0; });
}

/// The shifts of a sum's right side, if there are any.
std::vector<GatheredForm::Shift> shifts_of(const Program& program, const GatheredForm& form) {
  const Stage& sum = *form.sum;
  const std::vector<ExprId> read = places_read(program, form.right);
  std::vector<GatheredForm::Shift> shifts(sum.reduce_axes.size());
  bool any = false;
  for (const ExprId id : read) {
    const auto linear = ir::linear_form(program, id);
    if (!linear) return {};
    for (size_t k = 0; k < shifts.size(); ++k) {
      const ir::Dim step = linear->coefficient(static_cast<int>(sum.axes.size() + k));
      if (!step.is_constant() || step.value() < 0) continue;
      const auto move = [&](int axis, int64_t& places) {
        const ir::Dim stride = linear->coefficient(axis);
        if (!stride.is_constant() || stride.value() < 1) return;
        if (stride.value() != 1 && step.value() != 1) return;  // dilated strides
        shifts[k].stride = stride.value();
        places = step.value();
      };
      move(form.line, shifts[k].lines);
      move(form.place, shifts[k].places);
      any = any || shifts[k].any();
    }
  }
  for (const ExprId id : read) {
    const auto linear = ir::linear_form(program, id);
    for (size_t k = 0; k < shifts.size(); ++k) {
      if (!shifts[k].any()) continue;
      // Not every line goes with every place then.
      if (shifts[k].lines != 0 && shifts[k].places != 0) return {};
      const ir::Dim moved = linear->coefficient(form.line) * ir::Dim(shifts[k].lines) +
                            linear->coefficient(form.place) * ir::Dim(shifts[k].places);
      const ir::Dim steps =
          linear->coefficient(static_cast<int>(sum.axes.size() + k)) * ir::Dim(shifts[k].stride);
      if (steps != moved) return {};
    }
  }
  return any ? shifts : std::vector<GatheredForm::Shift>{};
}

}  // namespace

std::optional<GatheredForm> gathered_form(const Program& program, const Stage& sum, ir::ElementType type) {
  if (sum.kind != ir::StageKind::reduce || sum.monoid.kind != ir::Monoid::Kind::sum) return std::nullopt;
  if (program.exprs[static_cast<size_t>(sum.body[0])].type != type) return std::nullopt;
  if (sum.axes.size() < 3) return std::nullopt;
  for (const ir::Axis& axis : sum.reduce_axes) {
    if (!axis.extent.is_constant()) return std::nullopt;
  }
  GatheredForm form;
  form.sum = &sum;
  form.place = static_cast<int>(sum.axes.size()) - 1;
  form.line = form.place - 1;
  if (!sum.axes.back().extent.is_constant()) return std::nullopt;
  for (const ExprId factor : factors_of(program, sum.body[0]))
    (axes_of(program, factor).count(form.place) != 0 ? form.right : form.left).push_back(factor);
  if (form.left.empty() || form.right.empty()) return std::nullopt;
  if (depends(program, form.left, form.line) || !depends(program, form.right, form.line)) return std::nullopt;
  for (size_t k = 0; k < sum.reduce_axes.size(); ++k) {
    const int axis = static_cast<int>(sum.axes.size() + k);
    if (!depends(program, form.left, axis) || !depends(program, form.right, axis)) return std::nullopt;
  }
  for (int axis = 0; axis < form.line; ++axis) {
    if (depends(program, form.left, axis) && !depends(program, form.right, axis)) form.row = axis;
  }
  // What is gathered must be worth it: it is read once for every few rows, and by each tap that shares it.
  constexpr int64_t few = 4, few_with_taps = 8;
  if (form.row == ir::none) return std::nullopt;
  const ir::Dim& rows = sum.axes[static_cast<size_t>(form.row)].extent;
  if (!rows.is_constant()) return std::nullopt;
  if (rows.value() < few) {
    int64_t reads = type == ir::ElementType::f32 ? rows.value() : 0;
    const std::vector<GatheredForm::Shift> shifts = shifts_of(program, form);
    for (size_t k = 0; k < shifts.size(); ++k) {
      if (shifts[k].any() && shifts[k].stride == 1) reads *= sum.reduce_axes[k].extent.value();
    }
    if (reads < few_with_taps) return std::nullopt;
  }
  for (int axis = 0; axis < form.line; ++axis) {
    if (axis != form.row) form.outer.push_back(axis);
  }
  if (find_windows(program, sum, nullptr).found) return std::nullopt;
  return form;
}

FoundGathered find_gathered(const Program& program, const Stage& sum, const Stage* epilogue,
                            const std::vector<bool>& constant, ir::ElementType type) {
  FoundGathered result;
  const auto no = [&](const std::string& reason) {
    result.reason = reason;
    return result;
  };
  if (sum.groups.empty() || sum.groups.back().size() != 2) return no("columns are one axis");
  const auto form = gathered_form(program, sum, type);
  if (!form) return no("not a sum of products of a matrix and lines");
  result.form = *form;
  result.form.epilogue = epilogue;
  if (epilogue != nullptr) {
    MatchedEpilogue matched = match_dimensions(program, sum, *epilogue);
    if (!matched.reason.empty()) return no(matched.reason);
    result.form.epilogue_dims = std::move(matched.axes);
  }
  result.form.left_constant = is_constant(program, result.form.left, constant);
  result.form.shifts = shifts_of(program, result.form);
  result.found = true;
  return result;
}

}  // namespace axrun::search
