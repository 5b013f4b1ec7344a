#include "ir/cheaper_scalars.h"

#include <cmath>
#include <vector>

#include "ir/types.h"

namespace axrun::ir {

namespace {

class Replacer {
 public:
  explicit Replacer(const Program& from) : from_(from), result_(from) { result_.exprs.clear(); }

  Program run() {
    std::vector<ExprId> place;
    for (Expr expr : from_.exprs) {
      for (ExprId& argument : expr.args) {
        if (argument != none) argument = place[static_cast<size_t>(argument)];
      }
      for (ExprId& index : expr.indices) index = place[static_cast<size_t>(index)];
      place.push_back(replaced(expr));
    }
    for (Stage& stage : result_.stages) {
      for (auto* list : {&stage.body, &stage.target, &stage.monoid.identity, &stage.monoid.combine}) {
        for (ExprId& id : *list) id = place[static_cast<size_t>(id)];
      }
      if (stage.guard != none) stage.guard = place[static_cast<size_t>(stage.guard)];
      if (stage.step) stage.step = std::make_shared<const Program>(use_cheaper_scalars(*stage.step));
    }
    return std::move(result_);
  }

 private:
  const Expr& at(ExprId id) const { return result_.exprs[static_cast<size_t>(id)]; }

  ExprId append(const Expr& expr) {
    result_.exprs.push_back(expr);
    return static_cast<ExprId>(result_.exprs.size()) - 1;
  }
  ExprId real(double value) {
    Expr expr;
    expr.op = ScalarOp::real;
    expr.type = ElementType::f32;
    expr.real = round_to(ElementType::f32, value);
    return append(expr);
  }
  ExprId binary(ScalarOp op, ExprId a, ExprId b) {
    Expr expr;
    expr.op = op;
    expr.type = ElementType::f32;
    expr.args = {a, b, none};
    return append(expr);
  }

  ExprId replaced(const Expr& expr) {
    if (expr.type != ElementType::f32) return append(expr);
    if (expr.op == ScalarOp::cast) {
      const Expr& from = at(expr.args[0]);
      if (from.op == ScalarOp::integer && from.type != ElementType::u64) {
        return real(static_cast<double>(from.integer));
      }
      return append(expr);
    }
    const bool by_literal =
        (expr.op == ScalarOp::pow || expr.op == ScalarOp::div) && at(expr.args[1]).op == ScalarOp::real;
    if (!by_literal) return append(expr);
    const double literal = at(expr.args[1]).real;
    const ExprId x = expr.args[0];
    if (expr.op == ScalarOp::pow) {
      if (literal == 1) return x;
      if (literal == 2) return binary(ScalarOp::mul, x, x);
      if (literal == 3) return binary(ScalarOp::mul, binary(ScalarOp::mul, x, x), x);
      if (literal == -1) return binary(ScalarOp::div, real(1), x);
      return append(expr);
    }
    int exponent = 0;
    const bool power_of_two = std::abs(std::frexp(literal, &exponent)) == 0.5;
    constexpr int safe = 100;  // far from overflow and denormals
    if (power_of_two && std::abs(exponent) < safe) return binary(ScalarOp::mul, x, real(1 / literal));
    return append(expr);
  }

  const Program& from_;
  Program result_;
};

}  // namespace

Program use_cheaper_scalars(const Program& program) { return Replacer(program).run(); }

}  // namespace axrun::ir
