#include "ir/cheaper_scalars.h"

#include <cmath>
#include <optional>
#include <vector>

#include "ir/arithmetic.h"
#include "ir/expression_replacer.h"
#include "ir/types.h"

namespace axrun::ir {

namespace {

class CheaperScalars final : public ExpressionReplacer {
 public:
  using ExpressionReplacer::ExpressionReplacer;

 private:
  Program in_step(const Program& step) override { return CheaperScalars(step).run(); }

  ExprId real(double value, ElementType type = ElementType::f32) {
    Expr expr;
    expr.op = ScalarOp::real;
    expr.type = type;
    expr.real = round_to(type, value);
    return append(expr);
  }
  ExprId integer(int64_t value, ElementType type) {
    Expr expr;
    expr.op = ScalarOp::integer;
    expr.type = type;
    expr.integer = value;
    return append(expr);
  }
  /// Of the type of its arguments.
  ExprId binary(ScalarOp op, ExprId a, ExprId b) {
    Expr expr;
    expr.op = op;
    expr.type = at(a).type;
    expr.args = {a, b, none};
    return append(expr);
  }
  ExprId product(ExprId a, ExprId b) { return binary(ScalarOp::mul, a, b); }

  static bool is_folded(ScalarOp op) {
    switch (op) {
      case ScalarOp::neg:
      case ScalarOp::abs:
      case ScalarOp::floor:
      case ScalarOp::ceil:
      case ScalarOp::round_even:
      case ScalarOp::truncate:
      case ScalarOp::sqrt:
      case ScalarOp::add:
      case ScalarOp::sub:
      case ScalarOp::mul:
      case ScalarOp::div:
      case ScalarOp::min:
      case ScalarOp::max:
        return true;
      default:
        return false;
    }
  }

  static bool is_plain(ElementType type) {
    return type == ElementType::f16 || type == ElementType::bf16 || type == ElementType::f32 ||
           type == ElementType::f64;
  }

  /// A cast of a literal, as one.
  std::optional<ExprId> folded_cast(const Expr& expr) {
    const Expr from = at(expr.args[0]);
    const bool saturate = expr.op == ScalarOp::cast_saturate;
    const bool whole = from.op == ScalarOp::integer && from.type != ElementType::u64;
    if (!whole && (from.op != ScalarOp::real || !is_plain(from.type))) return std::nullopt;
    if (is_plain(expr.type)) return real(whole ? static_cast<double>(from.integer) : from.real, expr.type);
    if (!is_integer(expr.type) || expr.type == ElementType::u64) return std::nullopt;
    return integer(whole ? integer_to_integer(from.type, expr.type, from.integer, saturate)
                         : integer_from_real(expr.type, from.real),
                   expr.type);
  }

  /// Arithmetic of real literals, as one: f64 holds what f32 rounds well enough to be rounded again.
  std::optional<ExprId> folded(const Expr& expr) {
    if (expr.op == ScalarOp::cast || expr.op == ScalarOp::cast_saturate) return folded_cast(expr);
    if (!is_folded(expr.op) || (expr.type != ElementType::f32 && expr.type != ElementType::f64))
      return std::nullopt;
    const int count = argument_count(expr.op);
    for (int k = 0; k < count; ++k) {
      if (at(expr.args[static_cast<size_t>(k)]).op != ScalarOp::real) return std::nullopt;
    }
    const double a = at(expr.args[0]).real;
    // Reciprocals stay: proofs take a quotient for a product with one.
    if (expr.op == ScalarOp::div && a == 1) return std::nullopt;
    const double value = count == 1 ? real_unary(expr.op, a) : real_binary(expr.op, a, at(expr.args[1]).real);
    if (!std::isfinite(value) || !std::isfinite(round_to(expr.type, value))) return std::nullopt;
    return real(value, expr.type);
  }

  /// A cast to integers of x + 0, as one of x: the sign of a zero is lost.
  std::optional<ExprId> without_added_zero(Expr expr) {
    const bool casts = expr.op == ScalarOp::cast || expr.op == ScalarOp::cast_saturate;
    if (!casts || !is_integer(expr.type)) return std::nullopt;
    const Expr sum = at(expr.args[0]);
    if (sum.op != ScalarOp::add || !is_plain(sum.type)) return std::nullopt;
    const Expr& addend = at(sum.args[1]);
    if (addend.op != ScalarOp::real || addend.real != 0) return std::nullopt;
    expr.args[0] = sum.args[0];
    return append(expr);
  }

  ExprId replaced(const Expr& expr) override {
    if (expr.args[0] != none) {
      if (const auto literal = folded(expr)) return *literal;
    }
    if (const auto same = without_added_zero(expr)) return *same;
    const bool adds = expr.op == ScalarOp::add || expr.op == ScalarOp::sub;
    if (adds && is_integer(expr.type)) {
      const Expr& addend = at(expr.args[1]);
      if (addend.op == ScalarOp::integer && addend.integer == 0) return expr.args[0];
    }
    if (expr.type != ElementType::f32 && expr.type != ElementType::f64) return append(expr);
    const bool by_literal =
        (expr.op == ScalarOp::pow || expr.op == ScalarOp::div) && at(expr.args[1]).op == ScalarOp::real;
    if (!by_literal) return append(expr);
    const double literal = at(expr.args[1]).real;
    const ExprId x = expr.args[0];
    if (expr.op == ScalarOp::pow) {
      if (literal == 1) return x;
      if (literal == 2) return product(x, x);
      if (literal == 3) return product(product(x, x), x);
      if (literal == -1) return binary(ScalarOp::div, real(1, expr.type), x);
      return append(expr);
    }
    int exponent = 0;
    const bool power_of_two = std::abs(std::frexp(literal, &exponent)) == 0.5;
    constexpr int safe = 100;  // far from overflow and denormals
    if (power_of_two && std::abs(exponent) < safe) return product(x, real(1 / literal, expr.type));
    return append(expr);
  }
};

}  // namespace

Program use_cheaper_scalars(const Program& program) { return CheaperScalars(program).run(); }

}  // namespace axrun::ir
