#include "verify/interval.h"

#include <algorithm>
#include <array>
#include <string>

#include "ir/arithmetic.h"
#include "ir/error.h"
#include "ir/lane/math/math.h"

namespace axrun::verify {
namespace {

using ir::ElementType;
using ir::ScalarOp;

bool certain(const Interval& a, const Interval& b) { return a.is_certain() && b.is_certain(); }

/// From the images of end points, which enclose the result unless one of them is NaN.
Interval hull(double value, std::initializer_list<double> images) {
  double low = infinity;
  double high = -infinity;
  for (double image : images) {
    if (std::isnan(image)) return Interval::anything(value);
    low = std::min(low, image);
    high = std::max(high, image);
  }
  return {value, std::min(low, value), std::max(high, value)};
}

/// Widened by `ulp` units in the last place, at the end points' own magnitudes.
Interval widened(ElementType type, const Interval& a, double ulp) {
  if (a.is_nan() || a.is_anything()) return a;
  auto by = [&](double x) {
    return std::isinf(x) ? 0 : ulp * (2 * unit_roundoff(type) * std::fabs(x) + least_positive(type));
  };
  return {a.value, a.low - by(a.low), a.high + by(a.high)};
}

double as_f32(double value) { return ir::round_to(ElementType::f32, value); }

bool is_monotone(ScalarOp op) {
  switch (op) {
    case ScalarOp::exp:
    case ScalarOp::log:
    case ScalarOp::sqrt:
    case ScalarOp::asin:
    case ScalarOp::atan:
    case ScalarOp::sinh:
    case ScalarOp::tanh:
    case ScalarOp::asinh:
    case ScalarOp::acosh:
    case ScalarOp::atanh:
    case ScalarOp::erf:
      return true;
    default:
      return false;
  }
}

/// No implementation of these is negative.
Interval in_range(ScalarOp op, Interval a) {
  if ((op == ScalarOp::exp || op == ScalarOp::sqrt) && a.low < 0 && !a.is_anything()) a.low = 0;
  return a;
}

/// Functions of the math library, with their error.
Interval function(ScalarOp op, ElementType type, const Interval& a) {
  const double value = ir::real_unary(op, a.value);
  const double ulp = error_in_ulp(op);
  if (a.is_certain()) {
    if (std::isnan(value)) return Interval::not_a_number();
    // tanh(0), exp(-infinity), log(0): what every implementation gives to the bit.
    auto special = [](double x) { return x == 0 || std::isinf(x); };
    if (special(a.value) && special(value)) return Interval::exactly(value);
    return in_range(op, rounded(type, widened(type, Interval::exactly(value), ulp)));
  }
  if (a.is_anything()) return Interval::anything(value);
  // e^d lies between 1 + d and 1 + d + d*d for small d: one exponential instead of three.
  constexpr double near = 0x1p-10;
  if (op == ScalarOp::exp && a.value - a.low < near && a.high - a.value < near) {
    const double up = a.high - a.value;
    const Interval ends = {value, value * (1 + (a.low - a.value)), value * (1 + up + up * up)};
    return in_range(op, rounded(type, widened(type, ends, ulp)));
  }
  if (is_monotone(op)) {
    if (op == ScalarOp::acosh && a.low < 1) return Interval::anything(value);
    const Interval ends = hull(value, {ir::real_unary(op, a.low), ir::real_unary(op, a.high)});
    return in_range(op, rounded(type, widened(type, ends, ulp)));
  }
  if (op == ScalarOp::acos) {
    return rounded(type,
                   widened(type, hull(value, {ir::real_unary(op, a.low), ir::real_unary(op, a.high)}), ulp));
  }
  if (op == ScalarOp::cosh) {
    const double most = std::max(std::fabs(a.low), std::fabs(a.high));
    const double least = a.low <= 0 && a.high >= 0 ? 0 : std::min(std::fabs(a.low), std::fabs(a.high));
    return rounded(type, widened(type, hull(value, {std::cosh(least), std::cosh(most)}), ulp));
  }
  const double width = std::max(a.high - a.value, a.value - a.low);
  if (!(width < infinity)) return Interval::anything(value);
  if (op == ScalarOp::sin || op == ScalarOp::cos) {  // the derivative is at most 1
    const Interval near = {value, std::max(value - width, -1.0), std::min(value + width, 1.0)};
    return rounded(type, widened(type, near, ulp));
  }
  return Interval::anything(value);
}

/// Monotone and exact: nothing is rounded.
Interval step(ScalarOp op, const Interval& a) {
  if (a.is_nan()) return a;
  const double value = ir::real_unary(op, a.value);
  if (a.is_anything()) return Interval::anything(value);
  return {value, ir::real_unary(op, a.low), ir::real_unary(op, a.high)};
}

Interval magnitude(const Interval& a) {
  if (a.is_nan() || a.is_anything()) return a;
  const double low = std::fabs(a.low);
  const double high = std::fabs(a.high);
  const bool straddles = a.low < 0 && a.high > 0;
  return {std::fabs(a.value), straddles ? 0 : std::min(low, high), std::max(low, high)};
}

Interval unsure(bool value) { return {value ? 1.0 : 0.0, 0, 1}; }
Interval surely(bool value) { return Interval::exactly(value ? 1 : 0); }

Interval compare(ScalarOp op, const Interval& a, const Interval& b) {
  const bool value = ir::real_binary(op, a.value, b.value) != 0;
  if (a.is_nan() || b.is_nan()) return surely(op == ScalarOp::not_equal);
  if (certain(a, b)) return surely(value);
  if (a.is_anything() || b.is_anything()) return unsure(value);
  switch (op) {
    case ScalarOp::greater:
      return compare(ScalarOp::less, b, a);
    case ScalarOp::greater_equal:
      return compare(ScalarOp::less_equal, b, a);
    case ScalarOp::less:
      if (a.high < b.low) return surely(true);
      if (a.low >= b.high) return surely(false);
      return unsure(value);
    case ScalarOp::less_equal:
      if (a.high <= b.low) return surely(true);
      if (a.low > b.high) return surely(false);
      return unsure(value);
    default:
      break;
  }
  if (a.high < b.low || b.high < a.low) return surely(op == ScalarOp::not_equal);
  return unsure(value);
}

Interval logical(ScalarOp op, const Interval& a, const Interval& b) {
  switch (op) {
    case ScalarOp::logical_and:
      return {std::min(a.value, b.value), std::min(a.low, b.low), std::min(a.high, b.high)};
    case ScalarOp::logical_or:
      return {std::max(a.value, b.value), std::max(a.low, b.low), std::max(a.high, b.high)};
    default:
      if (certain(a, b)) return surely(a.value != b.value);
      return unsure(a.value != b.value);
  }
}

Interval extreme(ScalarOp op, const Interval& a, const Interval& b) {
  if (a.is_nan() || b.is_nan()) return Interval::not_a_number();
  const double value = ir::real_binary(op, a.value, b.value);
  if (a.is_anything() || b.is_anything()) return Interval::anything(value);
  if (op == ScalarOp::min) return {value, std::min(a.low, b.low), std::min(a.high, b.high)};
  return {value, std::max(a.low, b.low), std::max(a.high, b.high)};
}

Interval quotient(ElementType type, const Interval& a, const Interval& b) {
  const double value = a.value / b.value;
  if (a.is_nan() || b.is_nan()) return Interval::not_a_number();
  if (certain(a, b) && std::isnan(value)) return Interval::not_a_number();
  if (a.is_anything() || b.is_anything()) return Interval::anything(value);
  if (b.low <= 0 && b.high >= 0) {
    // The sign of a zero is not known here, so that of the infinity is not either.
    return Interval::anything(value);
  }
  Interval result = hull(value, {a.low / b.low, a.low / b.high, a.high / b.low, a.high / b.high});
  int exponent = 0;
  const bool power_of_two = b.is_certain() && std::fabs(std::frexp(b.value, &exponent)) == 0.5;
  if (!power_of_two) result = widened(type, result, 1);
  return rounded(type, result);
}

Interval product(ElementType type, const Interval& a, const Interval& b, bool same) {
  const double value = a.value * b.value;
  if (a.is_nan() || b.is_nan()) return Interval::not_a_number();
  if (certain(a, b))
    return std::isnan(value) ? Interval::not_a_number() : rounded(type, Interval::exactly(value));
  if (a.is_anything() || b.is_anything()) return Interval::anything(value);
  if (same) {
    const Interval size = magnitude(a);
    return rounded(type, {value, size.low * size.low, size.high * size.high});
  }
  return rounded(type, hull(value, {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high}));
}

Interval power(ElementType type, const Interval& a, const Interval& b) {
  const double value = std::pow(a.value, b.value);
  const double ulp = error_in_ulp(ScalarOp::pow);
  if (certain(a, b)) {
    if (std::isnan(value)) return Interval::not_a_number();
    return rounded(type, widened(type, Interval::exactly(value), ulp));
  }
  // For a positive base the extremes are at the corners. A whole exponent is a product.
  const bool whole = b.is_certain() && b.value == std::trunc(b.value) && std::fabs(b.value) <= 64;
  if (a.is_anything() || b.is_anything() || !(a.low > 0 || (whole && b.value > 0)))
    return Interval::anything(value);
  Interval corners = hull(value, {std::pow(a.low, b.low), std::pow(a.low, b.high), std::pow(a.high, b.low),
                                  std::pow(a.high, b.high)});
  if (a.low < 0 && a.high > 0) corners.low = std::min(corners.low, 0.0);
  return rounded(type, widened(type, corners, ulp));
}

Interval real_pair(ScalarOp op, ElementType type, const Interval& a, const Interval& b, bool same) {
  switch (op) {
    case ScalarOp::add:
    case ScalarOp::sub: {
      const double value = ir::real_binary(op, a.value, b.value);
      if (a.is_nan() || b.is_nan()) return Interval::not_a_number();
      if (certain(a, b) && std::isnan(value)) return Interval::not_a_number();
      const bool add = op == ScalarOp::add;
      return rounded(
          type, hull(value, {add ? a.low + b.low : a.low - b.high, add ? a.high + b.high : a.high - b.low}));
    }
    case ScalarOp::mul:
      return product(type, a, b, same);
    case ScalarOp::div:
      return quotient(type, a, b);
    case ScalarOp::min:
    case ScalarOp::max:
      return extreme(op, a, b);
    case ScalarOp::pow:
      return power(type, a, b);
    default:
      break;
  }
  const double value = ir::real_binary(op, a.value, b.value);
  if (!certain(a, b)) return Interval::anything(value);
  if (std::isnan(value)) return Interval::not_a_number();
  const double ulp = op == ScalarOp::remainder ? 0 : error_in_ulp(op);
  return rounded(type, widened(type, Interval::exactly(value), ulp));
}

int64_t whole(double value) { return static_cast<int64_t>(value); }

Interval integer(double value) {
  if (!(std::fabs(value) <= largest_integer)) throw NoBound{"integers beyond 2^53 are not followed"};
  return Interval::exactly(value);
}

Interval integer_pair(ScalarOp op, ElementType type, const Interval& a, const Interval& b) {
  auto at = [&](double x, double y) {
    const auto result = ir::integer_binary(op, type, whole(x), whole(y));
    if (!result) throw NoBound{"an integer is divided by zero"};
    return integer(ir::integer_to_real(type, *result)).value;
  };
  const double value = at(a.value, b.value);
  if (certain(a, b)) return Interval::exactly(value);
  if (op == ScalarOp::min || op == ScalarOp::max) return extreme(op, a, b);
  const bool small = std::max({-a.low, a.high, -b.low, b.high}) < 1e9 && ir::bits_of(type) == 64;
  if (small && op == ScalarOp::add) return {value, a.low + b.low, a.high + b.high};
  if (small && op == ScalarOp::sub) return {value, a.low - b.high, a.high - b.low};
  return Interval::anything(value);
}

}  // namespace

double unit_roundoff(ElementType type) {
  switch (type) {
    case ElementType::f64:
      return 0x1p-51;
    case ElementType::f32:
      return 0x1p-24;
    case ElementType::f16:
      return 0x1p-11;
    case ElementType::bf16:
      return 0x1p-8;
    case ElementType::f8e4m3fn:
    case ElementType::f8e4m3fnuz:
      return 0x1p-4;
    case ElementType::f8e5m2:
    case ElementType::f8e5m2fnuz:
    case ElementType::f6e3m2:
      return 0x1p-3;
    case ElementType::f6e2m3:
      return 0x1p-4;
    case ElementType::f4e2m1:
      return 0x1p-2;
    case ElementType::f8e8m0:
      return 0x1p-1;
    default:
      return 0;
  }
}

double least_positive(ElementType type) {
  switch (type) {
    case ElementType::f64:
      return 0x1p-1074;
    case ElementType::f32:
      return 0x1p-149;
    case ElementType::f16:
      return 0x1p-24;
    case ElementType::bf16:
      return 0x1p-133;
    case ElementType::f8e4m3fn:
      return 0x1p-9;
    case ElementType::f8e4m3fnuz:
      return 0x1p-10;
    case ElementType::f8e5m2:
      return 0x1p-16;
    case ElementType::f8e5m2fnuz:
      return 0x1p-17;
    case ElementType::f8e8m0:
      return 0x1p-127;
    case ElementType::f4e2m1:
      return 0x1p-1;
    case ElementType::f6e2m3:
      return 0x1p-3;
    case ElementType::f6e3m2:
      return 0x1p-4;
    default:
      return 0;
  }
}

Interval rounded(ElementType type, const Interval& a) {
  if (a.is_nan()) return a;
  if (type == ElementType::f32) {
    return {a.value, std::min(a.low, as_f32(a.low)), std::max(a.high, as_f32(a.high))};
  }
  if (type == ElementType::f64) {
    const double u = unit_roundoff(type);
    auto by = [&](double x) { return std::isinf(x) ? 0 : u * std::fabs(x) + least_positive(type); };
    return {a.value, a.low - by(a.low), a.high + by(a.high)};
  }
  const double low = ir::round_to(type, a.low);
  const double high = ir::round_to(type, a.high);
  if (std::isnan(low) || std::isnan(high)) return Interval::anything(a.value);
  return {a.value, std::min(a.low, low), std::max(a.high, high)};
}

double sum_error(ElementType type, double terms) {
  return terms < 2 ? 0 : std::expm1((terms - 1) * std::log1p(unit_roundoff(type)));
}

double error_in_ulp(ScalarOp op) {
  static const auto table = [] {
    constexpr double library = 2.5;  // glibc's f32 functions stay below it
    std::array<double, static_cast<size_t>(ScalarOp::greater_equal) + 1> ulp;
    ulp.fill(4);
    for (ScalarOp known : {ScalarOp::exp, ScalarOp::log, ScalarOp::tanh, ScalarOp::erf}) {
      const ir::lane::MathFunction* own = ir::lane::find_math_function(ir::name_of(known));
      AXRUN_ASSERT(own != nullptr);
      ulp[static_cast<size_t>(known)] = std::max(library, own->most_ulp);
    }
    ulp[static_cast<size_t>(ScalarOp::sqrt)] = 1;
    ulp[static_cast<size_t>(ScalarOp::pow)] = 8;
    return ulp;
  }();
  return table[static_cast<size_t>(op)];
}

Interval either(const Interval& chosen, const Interval& other) {
  if (chosen.is_nan() && other.is_nan()) return chosen;
  if (chosen.is_nan() || other.is_nan()) return Interval::anything(chosen.value);
  return {chosen.value, std::min(chosen.low, other.low), std::max(chosen.high, other.high)};
}

Interval select(const Interval& condition, const Interval& if_true, const Interval& if_false) {
  const Interval& chosen = condition.value != 0 ? if_true : if_false;
  if (condition.is_certain()) return chosen;
  return either(chosen, condition.value != 0 ? if_false : if_true);
}

Interval apply(ScalarOp op, ElementType type, const Interval& a) {
  if (op == ScalarOp::logical_not) return {1 - a.value, 1 - a.high, 1 - a.low};
  if (!ir::is_float(type)) {
    if (!a.is_certain()) return Interval::anything(a.value);
    return integer(ir::integer_to_real(type, ir::integer_unary(op, type, whole(a.value))));
  }
  switch (op) {
    case ScalarOp::is_nan:
      return a.is_anything() ? unsure(std::isnan(a.value)) : surely(a.is_nan());
    case ScalarOp::is_inf:
      if (a.is_certain()) return surely(std::isinf(a.value));
      return std::isinf(a.low) || std::isinf(a.high) ? unsure(std::isinf(a.value)) : surely(false);
    case ScalarOp::neg:
      return {-a.value, -a.high, -a.low};
    case ScalarOp::abs:
      return magnitude(a);
    case ScalarOp::sign:
    case ScalarOp::floor:
    case ScalarOp::ceil:
    case ScalarOp::round_even:
    case ScalarOp::truncate:
      return step(op, a);
    default:
      break;
  }
  if (a.is_nan()) return a;
  return function(op, type, a);
}

Interval apply(ScalarOp op, ElementType type, const Interval& a, const Interval& b, bool same) {
  if (ir::is_comparison(op)) return compare(op, a, b);
  if (ir::is_logical(op)) return logical(op, a, b);
  return ir::is_float(type) ? real_pair(op, type, a, b, same) : integer_pair(op, type, a, b);
}

Interval cast(ElementType from, ElementType to, bool saturate, const Interval& a) {
  if (ir::is_float(from)) {
    if (ir::is_float(to)) {
      if (a.is_nan()) return a;
      if (a.is_anything() || to == ElementType::f64) return a;
      const auto at = [&](double x) { return ir::real_to_real(to, x, saturate); };
      const Interval result = {at(a.value), at(a.low), at(a.high)};
      if (std::isnan(result.low) || std::isnan(result.high))
        return a.is_certain() ? Interval::not_a_number() : Interval::anything(result.value);
      return result;
    }
    const auto at = [&](double x) { return ir::integer_to_real(to, ir::integer_from_real(to, x)); };
    if (a.is_certain()) return integer(at(a.value));
    if (to == ElementType::boolean) {
      const bool never_zero = !a.is_anything() && (a.low > 0 || a.high < 0);
      return never_zero ? surely(true) : unsure(a.value != 0);
    }
    if (a.is_anything()) return Interval::anything(at(a.value));
    return {integer(at(a.value)).value, at(a.low), at(a.high)};
  }
  if (ir::is_float(to)) {
    if (a.is_anything()) return a;
    const auto at = [&](double x) { return ir::real_to_real(to, x, saturate); };
    return {at(a.value), at(a.low), at(a.high)};
  }
  const auto at = [&](double x) {
    return ir::integer_to_real(to, ir::integer_to_integer(from, to, whole(x), saturate));
  };
  if (a.is_certain()) return integer(at(a.value));
  if (a.is_anything()) return Interval::anything(0);
  if (at(a.low) == a.low && at(a.high) == a.high) return a;
  if (to == ElementType::boolean) return unsure(a.value != 0);
  return Interval::anything(at(a.value));
}

}  // namespace axrun::verify
