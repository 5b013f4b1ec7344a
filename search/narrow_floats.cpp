#include "search/narrow_floats.h"

#include <map>
#include <vector>

#include "ir/arithmetic.h"
#include "ir/expression_replacer.h"
#include "ir/types.h"

namespace axrun::search {

using ir::ElementType;
using ir::Expr;
using ir::ExprId;
using ir::none;
using ir::Program;
using ir::ScalarOp;

namespace {

/// Their results are exact where the arguments are.
bool rounds_nothing(ScalarOp op) {
  switch (op) {
    case ScalarOp::neg:
    case ScalarOp::abs:
    case ScalarOp::min:
    case ScalarOp::max:
    case ScalarOp::floor:
    case ScalarOp::ceil:
    case ScalarOp::round_even:
    case ScalarOp::truncate:
      return true;
    default:
      return false;
  }
}

bool rounds_once(ScalarOp op) {
  switch (op) {
    case ScalarOp::add:
    case ScalarOp::sub:
    case ScalarOp::mul:
    case ScalarOp::div:
    case ScalarOp::sqrt:
      return true;
    default:
      return false;
  }
}

bool f32_holds(ElementType type) {
  if (ir::is_float(type)) return ir::size_of(type) <= 4;
  return type == ElementType::boolean || ir::bits_of(type) <= 16;
}

class NarrowFloatReplacer final : public ir::ExpressionReplacer {
 public:
  using ExpressionReplacer::ExpressionReplacer;

 private:
  Program in_step(const Program& step) override { return NarrowFloatReplacer(step).run(); }

  ExprId cast(ElementType type, ExprId argument) {
    if (at(argument).type == type) return argument;
    Expr expr;
    expr.op = ScalarOp::cast;
    expr.type = type;
    expr.args = {argument, none, none};
    return append(expr);
  }

  /// The operation on f32, where every argument has a twin of f32; none elsewhere.
  ExprId with_twins(Expr expr, ElementType type, int first) {
    for (int k = first; k < 3; ++k) {
      ExprId& argument = expr.args[static_cast<size_t>(k)];
      if (argument == none) continue;
      argument = twin(argument);
      if (argument == none) return none;
    }
    expr.type = type;
    return append(expr);
  }

  /// The same value as an f32, where that holds it; none elsewhere.
  ExprId twin(ExprId id) {
    const auto known = twins_.find(id);
    if (known != twins_.end()) return known->second;
    const ExprId found = find_twin(at(id), id);
    twins_[id] = found;
    return found;
  }

  ExprId find_twin(Expr expr, ExprId id) {
    if (expr.type == ElementType::f32) return id;
    if (expr.type != ElementType::f64) return none;
    switch (expr.op) {
      case ScalarOp::real:
        if (ir::round_to(ElementType::f32, expr.real) != expr.real) return none;
        expr.type = ElementType::f32;
        return append(expr);
      case ScalarOp::cast:
        return f32_holds(at(expr.args[0]).type) ? cast(ElementType::f32, expr.args[0]) : none;
      case ScalarOp::select:
        return with_twins(expr, ElementType::f32, 1);
      default:
        return rounds_nothing(expr.op) ? with_twins(expr, ElementType::f32, 0) : none;
    }
  }

  ExprId replaced(const Expr& expr) override {
    if (expr.args[0] == none || expr.op == ScalarOp::load || at(expr.args[0]).type != ElementType::f64)
      return append(expr);
    const bool casts = expr.op == ScalarOp::cast || expr.op == ScalarOp::cast_saturate;
    ExprId found = none;
    if (casts && (expr.type == ElementType::f32 || !ir::is_float(expr.type))) {
      const Expr from = at(expr.args[0]);
      const bool widened = from.op == ScalarOp::cast;
      if (expr.type == ElementType::f32 && rounds_once(from.op)) {
        // The rounding stays: what expressions compute in f32 does not round.
        const ExprId narrow = with_twins(from, ElementType::f32, 0);
        if (narrow != none) found = cast(ElementType::f32, cast(ElementType::f64, narrow));
      } else if (expr.type == ElementType::f32 && widened && ir::is_integer(at(from.args[0]).type)) {
        found = cast(ElementType::f32, from.args[0]);
      } else if (const ExprId same = twin(expr.args[0]); same != none) {
        if (expr.type == ElementType::f32) {
          found = same;
        } else {
          Expr from_f32 = expr;
          from_f32.args[0] = same;
          found = append(from_f32);
        }
      }
    } else if (ir::is_comparison(expr.op) || expr.op == ScalarOp::is_nan || expr.op == ScalarOp::is_inf) {
      found = with_twins(expr, expr.type, 0);
    }
    return found != none ? found : append(expr);
  }

  std::map<ExprId, ExprId> twins_;
};

}  // namespace

Program narrow_floats(const Program& program) { return NarrowFloatReplacer(program).run(); }

}  // namespace axrun::search
