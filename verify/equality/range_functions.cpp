// Bounds, and what is rounded away, of functions and of integers: wherever nothing at all were known of the
// original, it would excuse everything.
#include <algorithm>
#include <cmath>

#include "ir/types.h"
#include "verify/equality/range_safety.h"

namespace axrun::verify::equality {

using Bounds = RangeSafety::Bounds;
using ir::ScalarOp;

namespace {

constexpr double half_turn = 3.141592653589794;
constexpr double least = 1.0 / 1024;  ///< as near to 0 as anything is taken to come

double magnitude(const Bounds& b) { return std::max(std::abs(b.low), std::abs(b.high)); }
Bounds rounded(Bounds b) {
  b.error = std::min(b.error + magnitude(b), largest_f32 * error_units);
  return b;
}
/// What becomes of an error where a function is as steep as a root at 0.
double near_a_root(double error) { return 2 * std::sqrt(error * error_units); }

/// The least number of all ones that is not below it.
double all_ones(double value) { return std::exp2(std::ceil(std::log2(std::max(value, 0.0) + 1))) - 1; }

Bounds integer_function(ScalarOp op, const Bounds& whole, const Bounds& a, const Bounds& b) {
  const bool positive = a.low >= 0 && b.low >= 0;
  switch (op) {
    case ScalarOp::bit_and:
      if (a.low < 0 && b.low < 0) return whole;
      return {0, positive ? std::min(a.high, b.high) : a.low >= 0 ? a.high : b.high};
    case ScalarOp::bit_or:
    case ScalarOp::bit_xor:
      return positive ? Bounds{0, all_ones(std::max(a.high, b.high))} : whole;
    case ScalarOp::shift_right:
      return a.low >= 0 ? Bounds{0, a.high} : whole;
    case ScalarOp::floor_mod:
      return b.low > 0 ? Bounds{0, b.high - 1} : whole;
    case ScalarOp::remainder:
      return {-magnitude(b), magnitude(b)};
    case ScalarOp::bit_not:
      return whole.low < 0 ? Bounds{-a.high - 1, -a.low - 1}
                           : Bounds{whole.high - a.high, whole.high - a.low};
    default:
      return whole;
  }
}

}  // namespace

/// x to the power of y, both of these bounds; of x that is no nearer to 0 than `least`.
Bounds power_bounds(const Bounds& x, const Bounds& y) {
  const double from = x.low > 0 ? std::max(x.low, 1e-30) : x.high < 0 ? -x.high : least;
  const double to = std::max(magnitude(x), from);
  double top = 0;
  for (const double base : {from, to})
    for (const double exponent : {y.low, y.high}) top = std::max(top, std::pow(base, exponent));
  top = std::min(top, 10 * largest_f32);
  const double logarithm = std::max(std::abs(std::log(from)), std::abs(std::log(to)));
  const double error = top * (x.error * magnitude(y) / from + y.error * logarithm);
  return rounded({x.low >= 0 ? 0 : -top, top, error});
}

Bounds integer_bounds(const ir::Expr& e, const Bounds& found, const std::vector<Bounds>& arguments) {
  const Bounds whole{static_cast<double>(ir::integer_min(e.type)),
                     static_cast<double>(ir::integer_max(e.type))};
  Bounds made = found;
  switch (e.op) {
    case ScalarOp::bit_and:
    case ScalarOp::bit_or:
    case ScalarOp::bit_xor:
    case ScalarOp::bit_not:
    case ScalarOp::shift_left:
    case ScalarOp::shift_right:
    case ScalarOp::floor_div:
    case ScalarOp::floor_mod:
    case ScalarOp::remainder:
    case ScalarOp::pow:
      made = integer_function(e.op, whole, arguments[0], arguments.back());
      break;
    default:
      break;
  }
  if (made.low < whole.low || made.high > whole.high) made = whole;  // it wraps
  // Nothing is rounded: what is wrong came from elsewhere.
  const bool exact =
      std::all_of(arguments.begin(), arguments.end(), [](const Bounds& b) { return b.error == 0; });
  made.error = exact ? 0 : std::max(found.error, error_units);
  return made;
}

std::optional<Bounds> function_bounds(ScalarOp op, const Bounds& a, const Bounds& b) {
  const auto increasing = [&](double (*f)(double), double error) {
    return rounded({f(a.low), f(a.high), error});
  };
  switch (op) {
    case ScalarOp::asinh:
      return increasing(std::asinh, a.error);
    case ScalarOp::atan:
      return increasing(std::atan, std::min(a.error, 2 * half_turn * error_units));
    case ScalarOp::asin:
    case ScalarOp::acos:
      return rounded({op == ScalarOp::asin ? -half_turn / 2 : 0,
                      op == ScalarOp::asin ? half_turn / 2 : half_turn,
                      std::min(near_a_root(a.error), 2 * half_turn * error_units)});
    case ScalarOp::acosh:
      return rounded({0, std::acosh(std::max(a.high, 1.0)), near_a_root(a.error)});
    case ScalarOp::atanh: {
      // What is nearest to 1 has an inverse of less than 10.
      const double inside = std::clamp(magnitude(a), 0.0, 1 - 1 / error_units);
      const double top = std::atanh(inside);
      return rounded({-top, top, std::min(a.error / (1 - inside * inside), 20 * error_units)});
    }
    case ScalarOp::tan: {
      // So near a pole a number of this type comes.
      const bool tame = magnitude(a) < half_turn / 2 - least;
      const double top = tame ? std::tan(magnitude(a)) : error_units;
      return rounded({-top, top, std::min(a.error * (1 + top * top), 2 * top * error_units)});
    }
    case ScalarOp::sinh:
    case ScalarOp::cosh: {
      const double top = std::cosh(std::min(magnitude(a), 90.0));
      return rounded({op == ScalarOp::cosh ? 1 : a.low >= 0 ? 0 : -top, top, top * a.error});
    }
    case ScalarOp::floor_mod:
    case ScalarOp::remainder: {
      const double most = magnitude(b);  // where it jumps it jumps by so much
      return rounded({-most, most, a.error + b.error > 0 ? most * error_units : 0});
    }
    case ScalarOp::atan2:
      return rounded({-half_turn, half_turn, a.error + b.error > 0 ? 2 * half_turn * error_units : 0});
    default:
      return std::nullopt;
  }
}

}  // namespace axrun::verify::equality
