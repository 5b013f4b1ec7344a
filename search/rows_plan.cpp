#include <algorithm>

#include "ir/linear.h"
#include "search/rows.h"
#include "search/scalar_cost.h"
#include "search/work.h"

namespace axrun::search {

using ir::Dim;
using ir::Expr;
using ir::ExprId;

namespace {

/// How many loads of the stages have neighbours along an axis side by side in memory.
int contiguous_loads(const PieceContext& context, const RowsForm& form, bool along_rows) {
  int count = 0;
  for (const RowsForm::Member& member : form.members) {
    const std::vector<int>& axes = along_rows ? member.rows : member.columns;
    if (axes.empty()) continue;
    for (const ExprId load : loads_of(context.program, member.stage->body[0])) {
      const Expr& read = context.program.exprs[static_cast<size_t>(load)];
      if (read.indices.empty()) continue;
      const auto last = ir::linear_form(context.program, read.indices.back());
      const bool reads_rows_and_columns = axes_of(context.program, load).size() > 1 || form.rows.empty();
      if (last && reads_rows_and_columns && last->coefficient(axes.back()) == Dim(1)) ++count;
    }
  }
  return count;
}

/// How often columns wait for the reduction of a whole row.
int waits(const PieceContext& context, const RowsForm& form) {
  int count = 0;
  for (const RowsForm::Member& reduction : form.members) {
    if (reduction.stage->kind != ir::StageKind::reduce) continue;
    count += std::any_of(form.members.begin(), form.members.end(), [&](const RowsForm::Member& reader) {
      if (reader.columns.empty()) return false;
      const std::vector<ExprId> loads = loads_of(context.program, reader.stage->body[0]);
      return std::any_of(loads.begin(), loads.end(), [&](ExprId load) {
        return context.program.exprs[static_cast<size_t>(load)].integer == reduction.stage->results[0];
      });
    });
  }
  return count;
}

/// How many rows are computed side by side, at most `most`. A processor looks ahead only so far: to have
/// something to do while the lanes of a row are folded, and what the columns wait for is worked out, a row
/// must be long, or have company.
int64_t rows_at_once(const PieceContext& context, const RowsForm& form, int64_t most) {
  if (form.rows.empty()) return 1;
  int64_t elements = 1;
  for (const RowsForm::Member& member : form.members) {
    int64_t row = 1;
    const size_t axes = member.stage->axes.size();
    for (const int column : member.columns) {
      const auto axis = static_cast<size_t>(column);
      row *= context.facts.typical(axis < axes ? member.stage->axes[axis].extent
                                               : member.stage->reduce_axes[axis - axes].extent);
    }
    elements = std::max(elements, row);
  }
  // Measured on softmax, normalisations and sums, in vectors.
  const int64_t enough = int64_t{32} << std::min(waits(context, form), 2);
  const int64_t typical = context.facts.typical(form.rows.back());
  int64_t rows = most;
  while (rows > 1 && (rows * elements > enough * context.target.lanes(4) || rows > typical)) rows /= 2;
  return rows;
}

}  // namespace

RowsPlan plan_rows(const PieceContext& context, const RowsForm& form) {
  RowsPlan plan;
  const int64_t registers = context.target.lanes(4);
  const int columns = contiguous_loads(context, form, false);
  plan.lanes_along_rows = contiguous_loads(context, form, true) > columns;

  int64_t longest = 1;
  if (plan.lanes_along_rows) {
    longest = context.facts.typical(form.rows.back());
  } else {
    for (const RowsForm::Member& member : form.members) {
      if (member.columns.empty()) continue;
      const auto axis = static_cast<size_t>(member.columns.back());
      const size_t axes = member.stage->axes.size();
      longest = std::max(longest,
                         context.facts.typical(axis < axes ? member.stage->axes[axis].extent
                                                           : member.stage->reduce_axes[axis - axes].extent));
    }
  }
  // As many sums at once as their latency asks for, fewer when the axis is short.
  const int64_t sums = context.target.vector_registers / 4;
  if (!plan.lanes_along_rows) plan.rows_at_once = rows_at_once(context, form, sums / 2);
  const int64_t chains = plan.lanes_along_rows ? sums / 2 : sums / plan.rows_at_once;
  plan.lanes = registers * std::clamp<int64_t>((longest + registers - 1) / registers, 1, chains);

  double work = 0;
  for (const RowsForm::Member& member : form.members) {
    double points = 1;
    for (const ir::Axis& axis : member.stage->axes)
      points *= static_cast<double>(context.facts.typical(axis.extent));
    for (const ir::Axis& axis : member.stage->reduce_axes)
      points *= static_cast<double>(context.facts.typical(axis.extent));
    constexpr double overhead = 2;  // loads and stores, in operations
    work += points * (overhead + scalar_cost(context.program, member.stage->body[0]));
  }
  if (!is_worth_spreading(2 * work, context.target)) return plan;
  double best = 0;
  for (size_t axis = 0; axis < form.rows.size(); ++axis) {
    const int64_t tile = plan.lanes_along_rows ? plan.lanes : plan.rows_at_once;
    const int64_t piece = axis + 1 == form.rows.size() ? tile : 1;
    const double used = balance_of_axis(context.facts, form.rows[axis], piece, context.target.cores);
    if (context.facts.typical(form.rows[axis]) <= piece || used < best + 0.1) continue;
    best = used;
    plan.parallel_axis = static_cast<int>(axis);
  }
  return plan;
}

}  // namespace axrun::search
