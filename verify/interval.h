#pragma once

#include <cmath>
#include <limits>
#include <string>

#include "ir/program.h"

namespace axrun::verify {

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double largest_integer = 9007199254740992.0;  ///< 2^53: f64 has all integers up to it

/// What a computation that rounds may yield where the exact one yields `value`: low <= value <= high, and any
/// result in between is right. Booleans are 0 and 1; integers are exact, and at most 2^53 in magnitude.
///
///   NaN and nothing else      all three are NaN
///   anything, NaN included    low = -infinity, high = +infinity
///   zeros of either sign      are one number here
struct Interval {
  double value = 0;
  double low = 0;
  double high = 0;

  static Interval exactly(double x) { return {x, x, x}; }
  static Interval anything(double value) { return {value, -infinity, infinity}; }
  static Interval not_a_number() { return exactly(std::numeric_limits<double>::quiet_NaN()); }

  /// One number, or NaN for certain.
  bool is_certain() const { return low == high || std::isnan(low); }
  bool is_nan() const { return std::isnan(low); }
  bool is_anything() const { return std::isinf(low) && std::isinf(high) && low < high; }
};

/// Thrown by what follows and by verify/error_bound.h: why no bound can be given.
struct NoBound {
  std::string reason;
};

/// The unit roundoff: half of the distance from 1 to the next number. f64 counts as 2^-51, because bounds are
/// computed in f64 themselves.
double unit_roundoff(ir::ElementType type);
/// The least positive number of a float type.
double least_positive(ir::ElementType type);

/// `a` widened so that it holds every rounding of its numbers to a float type, and they themselves (a fused
/// multiply-add does not round its product).
Interval rounded(ir::ElementType type, const Interval& a);

/// One operation whose arguments lie in the intervals and whose result is rounded to its type. What the exact
/// value lies next to a discontinuity of, both sides are in the result.
///
/// Beyond the rounding: exp, log, tanh, erf and the like may be off by a few last places (error_in_ulp);
/// quotients and roots by two more roundings, so that a reciprocal may be multiplied with.
///
/// type: of the arguments. Throws NoBound for integers beyond 2^53.
Interval apply(ir::ScalarOp op, ir::ElementType type, const Interval& a);
/// same: both arguments are one value, so that a product is a square.
Interval apply(ir::ScalarOp op, ir::ElementType type, const Interval& a, const Interval& b,
               bool same = false);
Interval select(const Interval& condition, const Interval& if_true, const Interval& if_false);
/// Both sides of a decision that can go either way; `chosen` is the reference's.
Interval either(const Interval& chosen, const Interval& other);
Interval cast(ir::ElementType from, ir::ElementType to, bool saturate, const Interval& a);

/// By how many units in the last place of f32 an implementation of a function may be off: what
/// ir/lane/math/math.h claims for its own, and no less than the C library's.
double error_in_ulp(ir::ScalarOp op);

/// How far off a sum of n numbers can be when it is added up in any order, in units of the sum of their
/// magnitudes: (1 + u)^(n - 1) - 1.
double sum_error(ir::ElementType type, double terms);

}  // namespace axrun::verify
