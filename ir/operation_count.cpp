#include "ir/operation_count.h"

#include <algorithm>
#include <limits>

#include "ir/arithmetic.h"
#include "ir/iteration_space.h"

namespace axrun::ir {
namespace {

bool is_transcendental(ScalarOp op) {
  return (op >= ScalarOp::exp && op <= ScalarOp::erf) || op == ScalarOp::pow || op == ScalarOp::atan2;
}

bool is_operation(ScalarOp op) {
  return op >= ScalarOp::neg && !is_logical(op) && op != ScalarOp::is_nan && op != ScalarOp::is_inf;
}

/// Whether combining with the literal changes nothing.
bool is_neutral(Monoid::Kind kind, const Expr& expr) {
  if (expr.op != ScalarOp::real && expr.op != ScalarOp::integer) return false;
  const bool real = expr.op == ScalarOp::real;
  switch (kind) {
    case Monoid::Kind::sum:
      return real ? expr.real == 0 : expr.integer == 0;
    case Monoid::Kind::product:
      return real ? expr.real == 1 : expr.integer == 1;
    case Monoid::Kind::max:
      return real ? expr.real == -std::numeric_limits<double>::infinity()
                  : expr.type != ElementType::boolean && expr.integer == integer_identity(kind, expr.type);
    case Monoid::Kind::min:
      return real ? expr.real == std::numeric_limits<double>::infinity()
                  : expr.type != ElementType::boolean && expr.integer == integer_identity(kind, expr.type);
    case Monoid::Kind::tuple:
      return false;
  }
  return false;
}

/// Counts one stage.
class StageCounter {
 public:
  StageCounter(const Program& program, const Stage& stage, const std::vector<bool>& known,
               OperationCount& count)
      : program_(program), stage_(stage), known_(known), count_(count), space_(program, stage) {}

  /// True when the results are known before the run.
  bool run() {
    std::vector<ExprId> roots = stage_.body;
    roots.insert(roots.end(), stage_.target.begin(), stage_.target.end());
    if (stage_.guard != none) roots.push_back(stage_.guard);
    const bool known_base = stage_.base == none || known_[static_cast<size_t>(stage_.base)];
    const bool varies =
        std::any_of(roots.begin(), roots.end(), [&](ExprId id) { return depends_on_data(id); });
    if (!varies && known_base) return true;
    const bool reduces = stage_.kind == StageKind::reduce;
    const bool tuple = reduces && stage_.monoid.kind == Monoid::Kind::tuple;
    if (reduces && !tuple) skip_neutral_terms(stage_.body[0]);
    if (reduces && stage_.monoid.kind == Monoid::Kind::sum) find_product();
    for (ExprId id : stage_.body) visit(id);
    if (tuple) {
      for (ExprId id : stage_.monoid.combine) visit_combination(id);
    } else if (reduces) {
      count_combinations();
    } else if (stage_.kind == StageKind::scatter && stage_.combine != ScatterCombine::assign) {
      add(false, false, expr(stage_.body[0]).type, space_.points(space_.all_axes()));
    }
    return false;
  }

 private:
  const Expr& expr(ExprId id) const { return program_.exprs[static_cast<size_t>(id)]; }

  void add(bool contraction, bool transcendental, ElementType type, double times) {
    if (is_float(type)) {
      (contraction      ? count_.contraction
       : transcendental ? count_.transcendental
                        : count_.arithmetic) += times;
    } else if (is_integer(type)) {
      (contraction ? count_.integer_contraction : count_.integer_arithmetic) += times;
    }
  }

  bool depends_on_data(ExprId id) {
    const auto found = varies_.find(id);
    if (found != varies_.end()) return found->second;
    const Expr& e = expr(id);
    bool varies = e.op == ScalarOp::load && !known_[static_cast<size_t>(e.integer)];
    for (ExprId index : e.indices) varies = varies || depends_on_data(index);
    for (ExprId argument : e.args) varies = varies || (argument != none && depends_on_data(argument));
    return varies_[id] = varies;
  }

  /// The type that decides where an operation is counted: comparisons belong to what they compare.
  ElementType operand_type(const Expr& e) const { return expr(e.args[0]).type; }

  void visit(ExprId id) {
    const Expr& e = expr(id);
    if (!depends_on_data(id) || !visited_.insert(id).second) return;
    if (e.op == ScalarOp::load) {
      if (e.args[1] != none) visit(e.args[1]);
      return;
    }
    for (ExprId argument : e.args) {
      if (argument != none) visit(argument);
    }
    if (!is_operation(e.op)) return;
    add(id == product_, is_transcendental(e.op), operand_type(e), space_.points(space_.axes_of(id)));
  }

  void visit_combination(ExprId id) {
    const Expr& e = expr(id);
    if (!combined_.insert(id).second) return;
    for (ExprId argument : e.args) {
      if (argument != none) visit_combination(argument);
    }
    if (!is_operation(e.op)) return;
    add(false, is_transcendental(e.op), operand_type(e), space_.points(space_.all_axes()));
  }

  void count_combinations() {
    AxisSet axes = space_.axes_of(stage_.body[0]);
    for (int64_t axis : reduce_axes()) axes.insert(axis);
    add(product_ != none, false, expr(stage_.body[0]).type, space_.points(axes));
  }

  AxisSet reduce_axes() const {
    AxisSet axes;
    for (size_t k = 0; k < stage_.reduce_axes.size(); ++k)
      axes.insert(static_cast<int64_t>(stage_.axes.size() + k));
    return axes;
  }

  /// Restricts the space to the points whose term may be other than neutral.
  void skip_neutral_terms(ExprId id) {
    const Expr& e = expr(id);
    const Monoid::Kind kind = stage_.monoid.kind;
    const bool sum = kind == Monoid::Kind::sum;
    if (e.op == ScalarOp::cast || (sum && e.op == ScalarOp::neg)) {
      skip_neutral_terms(e.args[0]);
    } else if (sum && e.op == ScalarOp::mul) {
      skip_neutral_terms(e.args[0]);
      skip_neutral_terms(e.args[1]);
    } else if (e.op == ScalarOp::load && e.args[0] != none && is_neutral(kind, expr(e.args[1]))) {
      space_.restrict_to(e.args[0]);
    } else if (e.op == ScalarOp::select && is_neutral(kind, expr(e.args[2]))) {
      space_.restrict_to(e.args[0]);
      skip_neutral_terms(e.args[1]);
    }
  }

  /// Finds the product whose sum the stage is, if it is one.
  void find_product() {
    ExprId id = stage_.body[0];
    while (expr(id).op == ScalarOp::cast) id = expr(id).args[0];
    const Expr& e = expr(id);
    if (e.op != ScalarOp::mul || e.args[0] == e.args[1]) return;
    const AxisSet reduced = reduce_axes();
    const auto varies_along = [&](ExprId factor) {
      const AxisSet& axes = space_.axes_of(factor);
      return std::any_of(axes.begin(), axes.end(), [&](int64_t axis) { return reduced.contains(axis); });
    };
    if (varies_along(e.args[0]) && varies_along(e.args[1])) product_ = id;
  }

  const Program& program_;
  const Stage& stage_;
  const std::vector<bool>& known_;
  OperationCount& count_;
  IterationSpace space_;
  std::map<ExprId, bool> varies_;
  std::set<ExprId> visited_, combined_;
  ExprId product_ = none;  ///< of the sum of products that the stage is
};

/// True when the results are known before the run.
bool count_scan(const Stage& stage, const std::vector<bool>& known, OperationCount& count) {
  std::vector<bool> known_operands;
  for (TensorId id : stage.captures) known_operands.push_back(known[static_cast<size_t>(id)]);
  const auto is_known = [&](TensorId id) { return known[static_cast<size_t>(id)]; };
  if (std::all_of(stage.captures.begin(), stage.captures.end(), is_known) &&
      std::all_of(stage.initial.begin(), stage.initial.end(), is_known)) {
    return true;
  }
  if (!stage.length.is_constant()) {
    count.uncounted.insert(stage.name);
    return false;
  }
  count += count_operations(*stage.step, known_operands) * static_cast<double>(stage.length.value());
  return false;
}

bool count_stage(const Program& program, const Stage& stage, const std::vector<bool>& known,
                 OperationCount& count) {
  if (stage.kind == StageKind::scan) return count_scan(stage, known, count);
  if (stage.kind == StageKind::opaque) {
    const bool computed_before = std::all_of(stage.arguments.begin(), stage.arguments.end(),
                                             [&](TensorId id) { return known[static_cast<size_t>(id)]; });
    if (!computed_before) count.uncounted.insert(stage.function);
    return computed_before;
  }
  if (!IterationSpace::has_constant_extents(stage)) {
    count.uncounted.insert(stage.name);
    return false;
  }
  return StageCounter(program, stage, known, count).run();
}

}  // namespace

OperationCount& OperationCount::operator+=(const OperationCount& other) {
  contraction += other.contraction;
  arithmetic += other.arithmetic;
  transcendental += other.transcendental;
  integer_contraction += other.integer_contraction;
  integer_arithmetic += other.integer_arithmetic;
  uncounted.insert(other.uncounted.begin(), other.uncounted.end());
  return *this;
}

OperationCount OperationCount::operator*(double times) const {
  return {contraction * times,         arithmetic * times,         transcendental * times,
          integer_contraction * times, integer_arithmetic * times, uncounted};
}

OperationCount count_operations(const Program& program, const std::vector<bool>& known) {
  std::vector<bool> known_tensors(program.tensors.size(), false);
  for (size_t k = 0; k < program.operands.size() && k < known.size(); ++k) {
    if (program.operands[k] != none) known_tensors[static_cast<size_t>(program.operands[k])] = known[k];
  }
  OperationCount count;
  for (const Stage& stage : program.stages) {
    const bool computed_before = count_stage(program, stage, known_tensors, count);
    for (TensorId id : stage.results) known_tensors[static_cast<size_t>(id)] = computed_before;
  }
  return count;
}

}  // namespace axrun::ir
