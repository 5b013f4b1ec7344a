#include "ir/interpreter/affine.h"

#include <algorithm>
#include <cmath>

#include "ir/error.h"

namespace axrun::ir::interpreter {

bool Affine::is_constant() const {
  return std::all_of(coefficients.begin(), coefficients.end(), [](int64_t c) { return c == 0; });
}

AffineAnalysis::AffineAnalysis(const Program& program, size_t count, std::vector<int64_t> extents,
                               const Bindings& bindings)
    : extents_(std::move(extents)) {
  forms_.resize(count);
  for (size_t id = 0; id < count; ++id) {
    const Expr& expr = program.exprs[id];
    if (expr.type != ElementType::i64) continue;
    auto form = analyse(expr, bindings);
    if (form && fits(*form)) forms_[id] = std::move(form);
  }
}

const Affine* AffineAnalysis::of(ExprId id) const {
  auto k = static_cast<size_t>(id);
  return k < forms_.size() && forms_[k] ? &*forms_[k] : nullptr;
}

Affine AffineAnalysis::constant(int64_t value) const {
  Affine form;
  form.coefficients.assign(extents_.size(), 0);
  form.constant = value;
  return form;
}

bool AffineAnalysis::fits(const Affine& form) const {
  constexpr double limit = 1152921504606846976.0;  // 2^60
  double magnitude = std::fabs(static_cast<double>(form.constant));
  for (size_t k = 0; k < extents_.size(); ++k) {
    magnitude += std::fabs(static_cast<double>(form.coefficients[k])) * static_cast<double>(extents_[k]);
  }
  return magnitude < limit;
}

Interval AffineAnalysis::range(const Affine& form) const {
  Interval range{form.constant, form.constant};
  for (size_t k = 0; k < extents_.size(); ++k) {
    int64_t reach = form.coefficients[k] * (extents_[k] - 1);
    (reach < 0 ? range.low : range.high) += reach;
  }
  return range;
}

std::optional<Affine> AffineAnalysis::combine(const Affine& a, int64_t scale_a, const Affine& b,
                                              int64_t scale_b, int64_t constant) const {
  auto weighted = [&](int64_t x, int64_t y, int64_t& sum) {
    int64_t left = 0;
    int64_t right = 0;
    return !__builtin_mul_overflow(x, scale_a, &left) && !__builtin_mul_overflow(y, scale_b, &right) &&
           !__builtin_add_overflow(left, right, &sum);
  };
  Affine form = this->constant(0);
  for (size_t k = 0; k < extents_.size(); ++k) {
    if (!weighted(a.coefficients[k], b.coefficients[k], form.coefficients[k])) return std::nullopt;
  }
  if (!weighted(a.constant, b.constant, form.constant) ||
      __builtin_add_overflow(form.constant, constant, &form.constant) || !fits(form)) {
    return std::nullopt;
  }
  return form;
}

/// Floor quotient or remainder, where the part that the divisor does not divide stays within 0..divisor-1.
std::optional<Affine> AffineAnalysis::divide(const Affine& a, int64_t divisor, bool quotient) const {
  if (divisor <= 0) return std::nullopt;
  Affine whole = constant(0);
  Affine rest = constant(0);
  for (size_t k = 0; k < extents_.size(); ++k) {
    bool divides = a.coefficients[k] % divisor == 0;
    if (divides) {
      whole.coefficients[k] = a.coefficients[k] / divisor;
    } else {
      rest.coefficients[k] = a.coefficients[k];
    }
  }
  rest.constant = ((a.constant % divisor) + divisor) % divisor;
  whole.constant = (a.constant - rest.constant) / divisor;
  Interval range = this->range(rest);
  if (range.low < 0 || range.high >= divisor) return std::nullopt;
  return quotient ? whole : rest;
}

std::optional<Affine> AffineAnalysis::analyse(const Expr& expr, const Bindings& bindings) const {
  auto unit = [&](size_t dimension) {
    Affine form = constant(0);
    form.coefficients[dimension] = 1;
    return form;
  };
  switch (expr.op) {
    case ScalarOp::integer:
      return constant(expr.integer);
    case ScalarOp::extent: {
      auto value = bindings.find(expr.dim);
      return value ? std::optional<Affine>(constant(*value)) : std::nullopt;
    }
    case ScalarOp::axis:
      // Axes of other stages share the expression list.
      if (expr.integer < 0 || static_cast<size_t>(expr.integer) + 1 >= extents_.size()) return std::nullopt;
      return unit(static_cast<size_t>(expr.integer));
    case ScalarOp::time:
      return unit(extents_.size() - 1);
    case ScalarOp::neg: {
      const Affine* a = of(expr.args[0]);
      return a ? combine(*a, -1, *a, 0, 0) : std::nullopt;
    }
    case ScalarOp::add:
    case ScalarOp::sub:
    case ScalarOp::mul:
    case ScalarOp::floor_div:
    case ScalarOp::floor_mod:
      break;
    default:
      return std::nullopt;
  }
  const Affine* a = of(expr.args[0]);
  const Affine* b = of(expr.args[1]);
  if (!a || !b) return std::nullopt;
  if (expr.op == ScalarOp::add) return combine(*a, 1, *b, 1, 0);
  if (expr.op == ScalarOp::sub) return combine(*a, 1, *b, -1, 0);
  if (expr.op == ScalarOp::mul) {
    if (b->is_constant()) return combine(*a, b->constant, *a, 0, 0);
    if (a->is_constant()) return combine(*b, a->constant, *b, 0, 0);
    return std::nullopt;
  }
  return b->is_constant() ? divide(*a, b->constant, expr.op == ScalarOp::floor_div) : std::nullopt;
}

}  // namespace axrun::ir::interpreter
