#include "tests/fuzz/graphs/rounded_expressions.h"

#include <algorithm>
#include <vector>

#include "ir/expression_replacer.h"

namespace axrun::tests {
namespace {

using ir::ElementType;
using ir::Expr;
using ir::ExprId;
using ir::ScalarOp;

/// Operations whose exact result need not be a number of their type.
bool rounds(const Expr& expr) {
  if (!ir::is_float(expr.type)) return false;
  switch (expr.op) {
    case ScalarOp::sqrt:
    case ScalarOp::exp:
    case ScalarOp::log:
    case ScalarOp::sin:
    case ScalarOp::cos:
    case ScalarOp::tan:
    case ScalarOp::asin:
    case ScalarOp::acos:
    case ScalarOp::atan:
    case ScalarOp::sinh:
    case ScalarOp::cosh:
    case ScalarOp::tanh:
    case ScalarOp::asinh:
    case ScalarOp::acosh:
    case ScalarOp::atanh:
    case ScalarOp::erf:
    case ScalarOp::add:
    case ScalarOp::sub:
    case ScalarOp::mul:
    case ScalarOp::div:
    case ScalarOp::pow:
    case ScalarOp::atan2:
      return true;
    default:
      return false;
  }
}

class Rounding final : public ir::ExpressionReplacer {
 public:
  Rounding(const ir::Program& program, double units, runtime::Random& random)
      : ExpressionReplacer(program), units_(units), random_(random), is_sum_(program.tensors.size(), false) {
    is_wide_ = std::any_of(program.tensors.begin(), program.tensors.end(),
                           [](const ir::TensorDecl& tensor) { return tensor.type == ElementType::f64; });
    for (const ir::Stage& stage : program.stages) {
      for (const ir::TensorId id : stage.results)
        is_sum_[static_cast<size_t>(id)] = stage.kind == ir::StageKind::reduce;
    }
  }

 protected:
  ExprId replaced(const Expr& expr) override {
    const ExprId exact = append(expr);
    const bool reads_sum =
        ir::is_float(expr.type) && expr.op == ScalarOp::load && is_sum_[static_cast<size_t>(expr.integer)];
    if (!rounds(expr) && !reads_sum) return exact;
    const double unit = is_wide_ ? 0x1p-52 : 0x1p-23;
    Expr factor;
    factor.op = ScalarOp::real;
    factor.type = expr.type;
    factor.real = 1 + units_ * unit * random_.real();
    const ExprId moved = joined(ScalarOp::mul, expr.type, exact, append(factor));
    if (is_wide_) return moved;
    // Through float64, as ir::rounded does: a cast to the same type is none.
    const bool is_f64 = expr.type == ElementType::f64;
    const ExprId rounded = joined(ScalarOp::cast, ElementType::f32,
                                  is_f64 ? moved : joined(ScalarOp::cast, ElementType::f64, moved));
    return expr.type == ElementType::f32 ? rounded : joined(ScalarOp::cast, expr.type, rounded);
  }

  ir::Program in_step(const ir::Program& step) override { return Rounding(step, units_, random_).run(); }

 private:
  ExprId joined(ScalarOp op, ElementType type, ExprId first, ExprId second = ir::none) {
    Expr expr;
    expr.op = op;
    expr.type = type;
    expr.args[0] = first;
    expr.args[1] = second;
    return append(expr);
  }

  double units_;
  runtime::Random& random_;
  bool is_wide_ = false;      ///< some tensor is of float64
  std::vector<bool> is_sum_;  ///< by tensors: of a reduction, whose order of terms is free
};

class HiddenTerms final : public ir::ExpressionReplacer {
 public:
  using ExpressionReplacer::ExpressionReplacer;

 protected:
  ExprId replaced(const Expr& expr) override {
    ExprId result = append(expr);
    if (!ir::is_float(expr.type) || (expr.op != ScalarOp::mul && expr.op != ScalarOp::add)) return result;
    for (const bool second : {false, true}) {
      const ExprId one = expr.args[second ? 1 : 0], other = expr.args[second ? 0 : 1];
      // other - other is 0 for numbers, NaN for what is none.
      const ExprId is_number = made(ScalarOp::equal, ElementType::boolean,
                                    made(ScalarOp::sub, expr.type, other, other), literal(expr.type, 0));
      const ExprId hides =
          expr.op == ScalarOp::mul
              ? made(ScalarOp::equal, ElementType::boolean, one, literal(expr.type, 0))
              : made(ScalarOp::less_equal, ElementType::boolean, one, literal(expr.type, least_hiding));
      const ExprId shown = made(ScalarOp::logical_or, ElementType::boolean, is_number,
                                made(ScalarOp::logical_not, ElementType::boolean, hides));
      result = made(ScalarOp::select, expr.type, shown, result, one);
    }
    return result;
  }

  ir::Program in_step(const ir::Program& step) override { return HiddenTerms(step).run(); }

 private:
  /// What the masks of attention add.
  static constexpr double least_hiding = -10000;

  ExprId literal(ElementType type, double value) {
    Expr expr;
    expr.op = ScalarOp::real;
    expr.type = type;
    expr.real = value;
    return append(expr);
  }

  ExprId made(ScalarOp op, ElementType type, ExprId first, ExprId second = ir::none,
              ExprId third = ir::none) {
    Expr expr;
    expr.op = op;
    expr.type = type;
    expr.args = {first, second, third};
    return append(expr);
  }
};

}  // namespace

ir::Program without_hidden_terms(const ir::Program& program) {
  const bool sums = std::any_of(program.stages.begin(), program.stages.end(), [](const ir::Stage& stage) {
    return stage.kind == ir::StageKind::reduce || stage.kind == ir::StageKind::scan;
  });
  return sums ? HiddenTerms(program).run() : program;
}

ir::Program with_rounded_expressions(const ir::Program& program, double units, runtime::Random& random) {
  return Rounding(program, units, random).run();
}

}  // namespace axrun::tests
