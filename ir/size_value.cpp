#include "ir/size_value.h"

#include <cmath>

#include "ir/arithmetic.h"
#include "ir/sizes_at_hand.h"

namespace axrun::ir {
namespace {

constexpr int64_t largest_denominator = int64_t{1} << 20;

bool certainly_at_least(const Dim& a, const Dim& b) { return max(a - b, Dim(0)) == a - b; }

/// False also where nobody knows.
bool at_least(const Dim& a, const Dim& b, SizesAtHand* sizes) {
  if (certainly_at_least(a, b)) return true;
  if (sizes == nullptr || certainly_at_least(b, a + 1)) return false;
  return sizes->at_least(a, b).value_or(false);
}

/// true or false where it is known.
std::optional<bool> less(const Dim& a, const Dim& b, SizesAtHand* sizes) {
  if (certainly_at_least(b, a + 1)) return true;
  if (certainly_at_least(a, b)) return false;
  if (sizes == nullptr) return std::nullopt;
  const auto not_less = sizes->at_least(a, b);
  return not_less ? std::optional<bool>(!*not_less) : std::nullopt;
}

MaybeSize rational(const Dim& numerator, int64_t denominator) {
  if (denominator < 0) return rational(Dim(0) - numerator, -denominator);
  if (denominator == 0 || denominator > largest_denominator) return std::nullopt;
  if (floor_mod(numerator, Dim(denominator)) == Dim(0))
    return SizeValue{floor_div(numerator, Dim(denominator)), 1};
  return SizeValue{numerator, denominator};
}

MaybeSize floor_of(const SizeValue& a) { return SizeValue{floor_div(a.numerator, Dim(a.denominator)), 1}; }

std::optional<bool> truth_of(const MaybeSize& a, SizesAtHand* sizes) {
  if (!a) return std::nullopt;
  auto zero = equal(a->numerator, Dim(0), sizes);
  return zero ? std::optional<bool>(!*zero) : std::nullopt;
}

std::optional<bool> inverted(std::optional<bool> value) {
  return value ? std::optional<bool>(!*value) : std::nullopt;
}

}  // namespace

std::optional<bool> equal(const Dim& a, const Dim& b, SizesAtHand* sizes) {
  if (a == b) return true;
  if (certainly_at_least(a, b + 1) || certainly_at_least(b, a + 1)) return false;
  return sizes != nullptr ? sizes->equal(a, b) : std::nullopt;
}

MaybeSize truth(std::optional<bool> value) {
  if (!value) return std::nullopt;
  return SizeValue{Dim(*value ? 1 : 0), 1};
}

MaybeSize from_real(double value) {
  if (!std::isfinite(value)) return std::nullopt;
  for (int64_t denominator = 1; denominator <= largest_denominator; denominator *= 2) {
    const double scaled = value * static_cast<double>(denominator);
    if (std::fabs(scaled) > 9007199254740992.0) return std::nullopt;  // 2^53
    if (scaled == std::trunc(scaled)) return rational(Dim(static_cast<int64_t>(scaled)), denominator);
  }
  return std::nullopt;
}

MaybeSize truncated(const SizeValue& a, SizesAtHand* sizes) {
  if (a.denominator == 1) return a;
  if (at_least(a.numerator, Dim(0), sizes)) return floor_of(a);
  if (at_least(Dim(0), a.numerator, sizes)) return SizeValue{ceil_div(a.numerator, Dim(a.denominator)), 1};
  return std::nullopt;
}

MaybeSize SizeArithmetic::unary(const SizeValue& a) const {
  switch (op_) {
    case ScalarOp::neg:
      return SizeValue{Dim(0) - a.numerator, a.denominator};
    case ScalarOp::abs:
      if (at_least(a.numerator, Dim(0), sizes_)) return a;
      if (at_least(Dim(0), a.numerator, sizes_)) return SizeValue{Dim(0) - a.numerator, a.denominator};
      return std::nullopt;
    case ScalarOp::sign:
      if (at_least(a.numerator, Dim(1), sizes_)) return SizeValue{Dim(1), 1};
      if (at_least(Dim(-1), a.numerator, sizes_)) return SizeValue{Dim(-1), 1};
      return equal(a.numerator, Dim(0), sizes_).value_or(false) ? MaybeSize(SizeValue{Dim(0), 1})
                                                                : std::nullopt;
    case ScalarOp::floor:
      return floor_of(a);
    case ScalarOp::ceil:
      return SizeValue{ceil_div(a.numerator, Dim(a.denominator)), 1};
    case ScalarOp::truncate:
      return truncated(a, sizes_);
    case ScalarOp::round_even:
      return a.denominator == 1 ? MaybeSize(a) : std::nullopt;
    case ScalarOp::is_nan:
    case ScalarOp::is_inf:
      return SizeValue{Dim(0), 1};
    case ScalarOp::logical_not:
      return truth(equal(a.numerator, Dim(0), sizes_));
    default:
      return std::nullopt;
  }
}

MaybeSize SizeArithmetic::binary(const MaybeSize& a, const MaybeSize& b) const {
  if (op_ == ScalarOp::logical_and || op_ == ScalarOp::logical_or) return logical(a, b);
  if (!a || !b) return op_ == ScalarOp::mul ? annihilated(a, b) : std::nullopt;
  if (!is_float(type_) && a->is_constant() && b->is_constant()) {
    auto value = integer_binary(op_, type_, a->numerator.value(), b->numerator.value());
    return value ? MaybeSize(SizeValue{Dim(*value), 1}) : std::nullopt;
  }
  return exact(*a, *b);
}

MaybeSize SizeArithmetic::logical(const MaybeSize& a, const MaybeSize& b) const {
  const bool decisive = op_ == ScalarOp::logical_or;
  auto left = truth_of(a, sizes_);
  auto right = truth_of(b, sizes_);
  if ((left && *left == decisive) || (right && *right == decisive)) return truth(decisive);
  return left && right ? truth(!decisive) : std::nullopt;
}

MaybeSize SizeArithmetic::annihilated(const MaybeSize& a, const MaybeSize& b) const {
  auto zero = [](const MaybeSize& value) { return value && value->numerator == Dim(0); };
  return !is_float(type_) && (zero(a) || zero(b)) ? MaybeSize(SizeValue{Dim(0), 1}) : std::nullopt;
}

MaybeSize SizeArithmetic::exact(const SizeValue& a, const SizeValue& b) const {
  const Dim left = a.numerator * Dim(b.denominator);
  const Dim right = b.numerator * Dim(a.denominator);
  const int64_t common = a.denominator * b.denominator;
  switch (op_) {
    case ScalarOp::add:
      return rational(left + right, common);
    case ScalarOp::sub:
      return rational(left - right, common);
    case ScalarOp::mul:
      return rational(a.numerator * b.numerator, common);
    case ScalarOp::min:
      return rational(min(left, right), common);
    case ScalarOp::max:
      return rational(max(left, right), common);
    case ScalarOp::equal:
      return truth(equal(left, right, sizes_));
    case ScalarOp::not_equal:
      return truth(inverted(equal(left, right, sizes_)));
    case ScalarOp::less:
      return truth(less(left, right, sizes_));
    case ScalarOp::less_equal:
      return truth(inverted(less(right, left, sizes_)));
    case ScalarOp::greater:
      return truth(less(right, left, sizes_));
    case ScalarOp::greater_equal:
      return truth(inverted(less(left, right, sizes_)));
    case ScalarOp::div:
    case ScalarOp::floor_div:
    case ScalarOp::floor_mod:
    case ScalarOp::remainder:
      return divide(left, right);
    default:
      return std::nullopt;
  }
}

MaybeSize SizeArithmetic::divide(const Dim& a, const Dim& b) const {
  if (is_float(type_)) {
    if (op_ != ScalarOp::div) return std::nullopt;
    if (auto divisor = b.constant()) return *divisor == 0 ? std::nullopt : rational(a, *divisor);
    if (!at_least(b, Dim(1), sizes_) || floor_mod(a, b) != Dim(0)) return std::nullopt;
    return SizeValue{floor_div(a, b), 1};
  }
  if (!at_least(b, Dim(1), sizes_) && !(b.is_constant() && b.value() != 0)) return std::nullopt;
  // Truncation is rounding down where both sides have one sign, or nothing is rounded.
  const Dim modulo = floor_mod(a, b);
  const bool towards_zero = op_ == ScalarOp::div || op_ == ScalarOp::remainder;
  if (towards_zero && modulo != Dim(0) && !(at_least(a, Dim(0), sizes_) && at_least(b, Dim(1), sizes_)))
    return std::nullopt;
  const bool quotient = op_ == ScalarOp::div || op_ == ScalarOp::floor_div;
  return SizeValue{quotient ? floor_div(a, b) : modulo, 1};
}

}  // namespace axrun::ir
