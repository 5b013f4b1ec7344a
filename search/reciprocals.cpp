#include "search/reciprocals.h"

#include <algorithm>
#include <set>

#include "search/stage_values.h"

namespace axrun::search {

using ir::Expr;
using ir::ExprId;
using ir::Program;
using ir::ScalarOp;

namespace {

/// The innermost axis along which a stage runs; -1: it is a single point.
int innermost_axis(const ir::Stage& stage) {
  return static_cast<int>(stage.axes.size() + stage.reduce_axes.size()) - 1;
}

/// Copies what a stage's body reaches, with the quotients replaced. Expressions of other stages stay as they
/// are: axes have other meanings there.
class ReciprocalReplacer {
 public:
  ReciprocalReplacer(Program& program, const std::set<ir::TensorId>& reduced, int innermost)
      : program_(program), reduced_(reduced), innermost_(innermost) {}

  ExprId run(ExprId id) {
    if (exact_.empty()) find_exact(id, false);
    const auto known = done_.find(id);
    if (known != done_.end()) return known->second;
    Expr expr = program_.exprs[static_cast<size_t>(id)];
    bool changed = false;
    for (ExprId& argument : expr.args) {
      if (argument == ir::none) continue;
      const ExprId now = run(argument);
      changed = changed || now != argument;
      argument = now;
    }
    ExprId result = id;
    if (!exact_.at(id) && is_hoistable_quotient(id)) {
      Expr one;
      one.op = ScalarOp::real;
      one.type = expr.type;
      one.real = 1;
      Expr inverse = expr;
      inverse.args = {append(one), expr.args[1], ir::none};
      expr.op = ScalarOp::mul;
      expr.args[1] = append(inverse);
      changed = true;
    }
    if (changed) result = append(expr);
    done_[id] = result;
    return result;
  }

 private:
  ExprId append(const Expr& expr) {
    program_.exprs.push_back(expr);
    return static_cast<ExprId>(program_.exprs.size()) - 1;
  }

  /// Marks what is rounded to an integer further up: the least difference may be a whole step there.
  void find_exact(ExprId id, bool exact) {
    const auto [place, fresh] = exact_.emplace(id, exact);
    if (!fresh && (place->second || !exact)) return;
    place->second = exact;
    const Expr& expr = program_.exprs[static_cast<size_t>(id)];
    const bool casts = expr.op == ScalarOp::cast || expr.op == ScalarOp::cast_saturate;
    const bool rounds = expr.op == ScalarOp::round_even || expr.op == ScalarOp::floor ||
                        expr.op == ScalarOp::ceil || expr.op == ScalarOp::truncate;
    for (const ExprId argument : expr.args) {
      if (argument != ir::none) find_exact(argument, exact || rounds || (casts && !is_float(expr.type)));
    }
  }

  bool is_hoistable_quotient(ExprId id) const {
    const Expr& expr = program_.exprs[static_cast<size_t>(id)];
    if (expr.op != ScalarOp::div || expr.type != ir::ElementType::f32) return false;
    if (axes_of(program_, expr.args[0]).count(innermost_) == 0) return false;
    if (axes_of(program_, expr.args[1]).count(innermost_) != 0) return false;
    return is_derived(expr.args[0]) || is_derived(expr.args[1]);
  }

  /// Whether it is computed from a reduction.
  bool is_derived(ExprId id) const {
    const std::vector<ExprId> loads = loads_of(program_, id);
    return std::any_of(loads.begin(), loads.end(), [&](ExprId load) {
      const auto tensor = static_cast<ir::TensorId>(program_.exprs[static_cast<size_t>(load)].integer);
      return reduced_.count(tensor) != 0;
    });
  }

  Program& program_;
  const std::set<ir::TensorId>& reduced_;
  const int innermost_;
  std::map<ExprId, ExprId> done_;
  std::map<ExprId, bool> exact_;
};

}  // namespace

Program use_reciprocals(const Program& program) {
  Program result = program;
  std::set<ir::TensorId> reduced;
  for (ir::Stage& stage : result.stages) {
    if (stage.kind == ir::StageKind::scan) continue;
    if (innermost_axis(stage) >= 0) {
      stage.body[0] = ReciprocalReplacer(result, reduced, innermost_axis(stage)).run(stage.body[0]);
    }
    bool derived = stage.kind == ir::StageKind::reduce;
    for (const ExprId load : loads_of(result, stage.body[0])) {
      derived =
          derived ||
          reduced.count(static_cast<ir::TensorId>(result.exprs[static_cast<size_t>(load)].integer)) != 0;
    }
    if (derived) reduced.insert(stage.results[0]);
  }
  return result;
}

}  // namespace axrun::search
