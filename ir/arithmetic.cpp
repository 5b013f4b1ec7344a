#include "ir/arithmetic.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "ir/error.h"

namespace axrun::ir {
namespace {

uint64_t bits(int64_t value) { return static_cast<uint64_t>(value); }
int64_t signed_bits(uint64_t value) { return static_cast<int64_t>(value); }

bool is_f8(ElementType type) { return is_float(type) && size_of(type) == 1; }

int64_t floor_quotient(int64_t a, int64_t b) {
  int64_t quotient = a / b;
  return quotient - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}

int64_t floor_remainder(int64_t a, int64_t b) {
  int64_t remainder = a % b;
  return remainder + ((remainder != 0 && (remainder < 0) != (b < 0)) ? b : 0);
}

/// Division of any kind; b is not 0.
int64_t divide(ScalarOp op, ElementType type, int64_t a, int64_t b) {
  if (type == ElementType::u64) {
    bool quotient = op == ScalarOp::div || op == ScalarOp::floor_div;
    return signed_bits(quotient ? bits(a) / bits(b) : bits(a) % bits(b));
  }
  if (b == -1) {  // INT64_MIN / -1 does not exist; negation wraps.
    bool quotient = op == ScalarOp::div || op == ScalarOp::floor_div;
    return quotient ? signed_bits(0 - bits(a)) : 0;
  }
  switch (op) {
    case ScalarOp::div:
      return a / b;
    case ScalarOp::floor_div:
      return floor_quotient(a, b);
    case ScalarOp::floor_mod:
      return floor_remainder(a, b);
    default:
      return a % b;
  }
}

int64_t power(ElementType type, int64_t base, int64_t exponent) {
  if (type != ElementType::u64 && exponent < 0) {
    if (base == 1) return 1;
    if (base == -1) return exponent % 2 == 0 ? 1 : -1;
    return 0;
  }
  uint64_t result = 1;
  uint64_t square = bits(base);
  for (uint64_t left = bits(exponent); left != 0; left >>= 1) {
    if (left & 1) result *= square;
    square *= square;
  }
  return signed_bits(result);
}

int64_t shift(ScalarOp op, ElementType type, int64_t a, int64_t b) {
  if (b < 0 || b >= bits_of(type)) return 0;
  if (op == ScalarOp::shift_left) return signed_bits(bits(a) << b);
  return type == ElementType::u64 ? signed_bits(bits(a) >> b) : a >> b;
}

bool less(ElementType type, int64_t a, int64_t b) {
  return type == ElementType::u64 ? bits(a) < bits(b) : a < b;
}

/// In the order of ScalarOp.
constexpr std::array<std::string_view, 62> operation_names = {
    "real",        "integer",     "extent",        "axis",       "time",    "parameter",    "load",
    "select",      "cast",        "cast_saturate", "neg",        "abs",     "sign",         "floor",
    "ceil",        "round_even",  "truncate",      "sqrt",       "exp",     "log",          "sin",
    "cos",         "tan",         "asin",          "acos",       "atan",    "sinh",         "cosh",
    "tanh",        "asinh",       "acosh",         "atanh",      "erf",     "is_nan",       "is_inf",
    "logical_not", "bit_not",     "add",           "sub",        "mul",     "div",          "floor_div",
    "floor_mod",   "remainder",   "pow",           "min",        "max",     "atan2",        "logical_and",
    "logical_or",  "logical_xor", "bit_and",       "bit_or",     "bit_xor", "shift_left",   "shift_right",
    "equal",       "not_equal",   "less",          "less_equal", "greater", "greater_equal"};
static_assert(operation_names.size() == static_cast<size_t>(ScalarOp::greater_equal) + 1);

}  // namespace

bool is_comparison(ScalarOp op) { return op >= ScalarOp::equal && op <= ScalarOp::greater_equal; }

bool is_logical(ScalarOp op) {
  return op == ScalarOp::logical_and || op == ScalarOp::logical_or || op == ScalarOp::logical_xor ||
         op == ScalarOp::logical_not;
}

std::string_view name_of(ScalarOp op) { return operation_names.at(static_cast<size_t>(op)); }

std::optional<ScalarOp> parse_scalar_op(std::string_view name) {
  auto it = std::find(operation_names.begin(), operation_names.end(), name);
  if (it == operation_names.end()) return std::nullopt;
  return static_cast<ScalarOp>(it - operation_names.begin());
}

bool gives_boolean(ScalarOp op) {
  return is_comparison(op) || is_logical(op) || op == ScalarOp::is_nan || op == ScalarOp::is_inf;
}

int argument_count(ScalarOp op) {
  if (op < ScalarOp::load) return 0;
  if (op == ScalarOp::load) return 2;
  if (op == ScalarOp::select) return 3;
  return op < ScalarOp::add ? 1 : 2;
}

std::optional<int64_t> integer_binary(ScalarOp op, ElementType type, int64_t a, int64_t b) {
  switch (op) {
    case ScalarOp::add:
      return wrap_to(type, signed_bits(bits(a) + bits(b)));
    case ScalarOp::sub:
      return wrap_to(type, signed_bits(bits(a) - bits(b)));
    case ScalarOp::mul:
      return wrap_to(type, signed_bits(bits(a) * bits(b)));
    case ScalarOp::div:
    case ScalarOp::floor_div:
    case ScalarOp::floor_mod:
    case ScalarOp::remainder:
      if (b == 0) return std::nullopt;
      return wrap_to(type, divide(op, type, a, b));
    case ScalarOp::pow:
      return wrap_to(type, power(type, a, b));
    case ScalarOp::min:
      return less(type, b, a) ? b : a;
    case ScalarOp::max:
      return less(type, a, b) ? b : a;
    case ScalarOp::logical_and:
      return (a != 0 && b != 0) ? 1 : 0;
    case ScalarOp::logical_or:
      return (a != 0 || b != 0) ? 1 : 0;
    case ScalarOp::logical_xor:
      return ((a != 0) != (b != 0)) ? 1 : 0;
    case ScalarOp::bit_and:
      return a & b;
    case ScalarOp::bit_or:
      return a | b;
    case ScalarOp::bit_xor:
      return wrap_to(type, a ^ b);
    case ScalarOp::shift_left:
    case ScalarOp::shift_right:
      return wrap_to(type, shift(op, type, a, b));
    case ScalarOp::equal:
      return a == b ? 1 : 0;
    case ScalarOp::not_equal:
      return a != b ? 1 : 0;
    case ScalarOp::less:
      return less(type, a, b) ? 1 : 0;
    case ScalarOp::less_equal:
      return less(type, b, a) ? 0 : 1;
    case ScalarOp::greater:
      return less(type, b, a) ? 1 : 0;
    case ScalarOp::greater_equal:
      return less(type, a, b) ? 0 : 1;
    default:
      break;
  }
  throw Error(Fault::internal, "this scalar operation takes no integers");
}

int64_t integer_identity(Monoid::Kind kind, ElementType type) {
  const bool boolean = type == ElementType::boolean;
  switch (kind) {
    case Monoid::Kind::product:
      return 1;
    case Monoid::Kind::min:
      return boolean ? 1 : type == ElementType::u64 ? -1 : integer_max(type);
    case Monoid::Kind::max:
      return boolean ? 0 : integer_min(type);
    default:
      return 0;
  }
}

int64_t integer_unary(ScalarOp op, ElementType type, int64_t a) {
  bool negative = type != ElementType::u64 && a < 0;
  switch (op) {
    case ScalarOp::neg:
      return wrap_to(type, signed_bits(0 - bits(a)));
    case ScalarOp::abs:
      return negative ? wrap_to(type, signed_bits(0 - bits(a))) : a;
    case ScalarOp::sign:
      return negative ? -1 : (a != 0 ? 1 : 0);
    case ScalarOp::logical_not:
      return a == 0 ? 1 : 0;
    case ScalarOp::bit_not:
      return wrap_to(type, ~a);
    default:
      break;
  }
  throw Error(Fault::internal, "this scalar operation takes no integer");
}

double real_floor_mod(double a, double b) {
  double remainder = std::fmod(a, b);
  if (remainder == 0) return std::copysign(0.0, b);
  return (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

double real_binary(ScalarOp op, double a, double b) {
  switch (op) {
    case ScalarOp::add:
      return a + b;
    case ScalarOp::sub:
      return a - b;
    case ScalarOp::mul:
      return a * b;
    case ScalarOp::div:
      return a / b;
    case ScalarOp::floor_mod:
      return real_floor_mod(a, b);
    case ScalarOp::remainder:
      return std::fmod(a, b);
    case ScalarOp::pow:
      return std::pow(a, b);
    case ScalarOp::min:
      return nan_min(a, b);
    case ScalarOp::max:
      return nan_max(a, b);
    case ScalarOp::atan2:
      return std::atan2(a, b);
    case ScalarOp::equal:
      return a == b ? 1 : 0;
    case ScalarOp::not_equal:
      return a != b ? 1 : 0;
    case ScalarOp::less:
      return a < b ? 1 : 0;
    case ScalarOp::less_equal:
      return a <= b ? 1 : 0;
    case ScalarOp::greater:
      return a > b ? 1 : 0;
    case ScalarOp::greater_equal:
      return a >= b ? 1 : 0;
    default:
      break;
  }
  throw Error(Fault::internal, "this scalar operation takes no floats");
}

double real_unary(ScalarOp op, double a) {
  switch (op) {
    case ScalarOp::neg:
      return -a;
    case ScalarOp::abs:
      return std::fabs(a);
    case ScalarOp::sign:
      return a > 0 ? 1 : (a < 0 ? -1 : a);
    case ScalarOp::floor:
      return std::floor(a);
    case ScalarOp::ceil:
      return std::ceil(a);
    case ScalarOp::round_even:
      return std::nearbyint(a);
    case ScalarOp::truncate:
      return std::trunc(a);
    case ScalarOp::sqrt:
      return std::sqrt(a);
    case ScalarOp::exp:
      return std::exp(a);
    case ScalarOp::log:
      return std::log(a);
    case ScalarOp::sin:
      return std::sin(a);
    case ScalarOp::cos:
      return std::cos(a);
    case ScalarOp::tan:
      return std::tan(a);
    case ScalarOp::asin:
      return std::asin(a);
    case ScalarOp::acos:
      return std::acos(a);
    case ScalarOp::atan:
      return std::atan(a);
    case ScalarOp::sinh:
      return std::sinh(a);
    case ScalarOp::cosh:
      return std::cosh(a);
    case ScalarOp::tanh:
      return std::tanh(a);
    case ScalarOp::asinh:
      return std::asinh(a);
    case ScalarOp::acosh:
      return std::acosh(a);
    case ScalarOp::atanh:
      return std::atanh(a);
    case ScalarOp::erf:
      return std::erf(a);
    case ScalarOp::is_nan:
      return std::isnan(a) ? 1 : 0;
    case ScalarOp::is_inf:
      return std::isinf(a) ? 1 : 0;
    default:
      break;
  }
  throw Error(Fault::internal, "this scalar operation takes no float");
}

int64_t integer_to_integer(ElementType from, ElementType to, int64_t value, bool saturate) {
  if (to == ElementType::boolean) return value != 0 ? 1 : 0;
  if (!saturate) return wrap_to(to, value);
  if (from == ElementType::u64 && value < 0) return to == ElementType::u64 ? value : integer_max(to);
  if (to == ElementType::u64) return std::max<int64_t>(value, 0);
  return std::clamp(value, integer_min(to), integer_max(to));
}

double integer_to_real(ElementType from, int64_t value) {
  return from == ElementType::u64 ? static_cast<double>(bits(value)) : static_cast<double>(value);
}

double real_to_real(ElementType to, double value, bool saturate) {
  if (is_f8(to)) return f8_to_double(to, f8_from_double(to, value, saturate));
  return round_to(to, value);
}

}  // namespace axrun::ir
