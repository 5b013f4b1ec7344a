#include "search/axis_cuts.h"

#include <algorithm>

#include "ir/grammar.h"
#include "ir/linear.h"

namespace axrun::search {

using ir::Dim;
using ir::Expr;
using ir::ExprId;
using ir::Program;
using ir::ScalarOp;

namespace {

/// a <= b for all sizes; false when that is not known.
bool at_most(const Dim& a, const Dim& b) { return max(b - a, Dim(0)) == b - a; }

}  // namespace

std::vector<AxisCondition> axis_conditions(const Program& program, const ir::Stage& stage) {
  std::vector<AxisCondition> conditions;
  for (const ExprId id : ir::reachable(program, stage.body)) {
    const Expr& expr = program.exprs[static_cast<size_t>(id)];
    if (expr.op < ScalarOp::less || expr.op > ScalarOp::greater_equal) continue;
    const auto left = ir::linear_form(program, expr.args[0]), right = ir::linear_form(program, expr.args[1]);
    if (!left || !right) continue;
    // difference < 0, or <= 0.
    const bool swapped = expr.op == ScalarOp::greater || expr.op == ScalarOp::greater_equal;
    const bool strict = expr.op == ScalarOp::less || expr.op == ScalarOp::greater;
    ir::Linear difference = swapped ? *right : *left;
    difference += (swapped ? *left : *right) * Dim(-1);
    if (difference.coefficients.size() != 1) continue;
    const auto& [axis, factor] = *difference.coefficients.begin();
    const Dim rest = difference.constant;
    if (factor == Dim(1)) {  // axis < -rest, or axis <= -rest
      conditions.push_back({id, axis, strict ? Dim(0) - rest : Dim(1) - rest, true});
    } else if (factor == Dim(-1)) {  // axis > rest, or axis >= rest
      conditions.push_back({id, axis, strict ? rest + 1 : rest, false});
    }
  }
  return conditions;
}

std::vector<Dim> cuts_of(const std::vector<AxisCondition>& conditions, int axis, const Dim& extent) {
  std::vector<Dim> cuts;
  for (const AxisCondition& condition : conditions) {
    const Dim& bound = condition.bound;
    if (condition.axis != axis || at_most(bound, Dim(0)) || at_most(extent, bound)) continue;
    if (std::find(cuts.begin(), cuts.end(), bound) != cuts.end()) continue;
    if (!at_most(Dim(0), bound) || !at_most(bound, extent)) return {};
    size_t place = 0;
    while (place < cuts.size() && at_most(cuts[place], bound)) ++place;
    if (place < cuts.size() && !at_most(bound, cuts[place])) return {};
    cuts.insert(cuts.begin() + static_cast<std::ptrdiff_t>(place), bound);
  }
  return cuts;
}

std::map<ExprId, bool> decided(const std::vector<AxisCondition>& conditions, int axis, const Dim& low,
                               const Dim& high) {
  std::map<ExprId, bool> values;
  for (const AxisCondition& condition : conditions) {
    if (condition.axis != axis) continue;
    if (at_most(high, condition.bound)) values[condition.id] = condition.below;
    if (at_most(condition.bound, low)) values[condition.id] = !condition.below;
  }
  return values;
}

}  // namespace axrun::search
