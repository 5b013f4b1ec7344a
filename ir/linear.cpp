#include "ir/linear.h"

#include "ir/types.h"

namespace axrun::ir {

Dim Linear::coefficient(int axis) const {
  const auto found = coefficients.find(axis);
  return found == coefficients.end() ? Dim(0) : found->second;
}

Linear& Linear::operator+=(const Linear& other) {
  for (const auto& [axis, value] : other.coefficients) {
    const Dim sum = coefficient(axis) + value;
    if (sum == Dim(0)) {
      coefficients.erase(axis);
    } else {
      coefficients[axis] = sum;
    }
  }
  constant = constant + other.constant;
  return *this;
}

Linear Linear::operator*(const Dim& factor) const {
  Linear result;
  if (factor == Dim(0)) return result;
  for (const auto& [axis, value] : coefficients) result.coefficients[axis] = value * factor;
  result.constant = constant * factor;
  return result;
}

std::optional<int> Linear::single_axis() const {
  if (constant != Dim(0) || coefficients.size() != 1 || coefficients.begin()->second != Dim(1))
    return std::nullopt;
  return coefficients.begin()->first;
}

std::optional<Linear> linear_form(const Program& program, ExprId id) {
  const Expr& expr = program.exprs[static_cast<size_t>(id)];
  if (expr.type != ElementType::i64) return std::nullopt;
  Linear result;
  switch (expr.op) {
    case ScalarOp::integer:
      result.constant = expr.integer;
      return result;
    case ScalarOp::extent:
      result.constant = expr.dim;
      return result;
    case ScalarOp::axis:
      result.coefficients[static_cast<int>(expr.integer)] = 1;
      return result;
    case ScalarOp::neg:
    case ScalarOp::add:
    case ScalarOp::sub:
    case ScalarOp::mul:
      break;
    default:
      return std::nullopt;
  }
  const auto a = linear_form(program, expr.args[0]);
  if (!a) return std::nullopt;
  if (expr.op == ScalarOp::neg) return *a * Dim(-1);
  const auto b = linear_form(program, expr.args[1]);
  if (!b) return std::nullopt;
  if (expr.op == ScalarOp::mul) {
    if (a->coefficients.empty()) return *b * a->constant;
    if (b->coefficients.empty()) return *a * b->constant;
    return std::nullopt;
  }
  result = *a;
  result += expr.op == ScalarOp::sub ? *b * Dim(-1) : *b;
  return result;
}

std::optional<Linear> margin_of(const Program& program, const Expr& comparison) {
  const bool rising = comparison.op == ScalarOp::less || comparison.op == ScalarOp::less_equal;
  const bool strict = comparison.op == ScalarOp::less || comparison.op == ScalarOp::greater;
  const auto left = linear_form(program, comparison.args[0]);
  const auto right = linear_form(program, comparison.args[1]);
  if (!left || !right) return std::nullopt;
  Linear margin = rising ? *right : *left;
  margin += (rising ? *left : *right) * Dim(-1);
  if (strict) margin.constant = margin.constant - 1;
  return margin;
}

Scalar to_scalar(Builder& builder, const Linear& linear, const Indices& axes) {
  Scalar sum = builder.integer(0);
  for (const auto& [axis, value] : linear.coefficients) {
    sum = sum + axes[static_cast<size_t>(axis)] * value;
  }
  return sum + linear.constant;
}

}  // namespace axrun::ir
