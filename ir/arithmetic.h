#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ir/program.h"

namespace axrun::ir {

/// Scalar semantics of ScalarOp on single values. Integers of every type are int64_t holding the value
/// (u64 above INT64_MAX: the same bits); booleans are 0 or 1; floats are double.

bool is_comparison(ScalarOp op);
bool is_logical(ScalarOp op);
/// Comparisons, logical operations, is_nan and is_inf.
bool gives_boolean(ScalarOp op);
/// A load has 2: the guard and the value where it is false.
int argument_count(ScalarOp op);
/// "floor_div"; parse_scalar_op is its inverse.
std::string_view name_of(ScalarOp op);
std::optional<ScalarOp> parse_scalar_op(std::string_view name);

/// Both operands of `type`. Results wrap to the type; comparisons give 0 or 1. nullopt: division by zero.
/// INT_MIN / -1 wraps. x ** negative is 0 unless x is 1 or -1.
std::optional<int64_t> integer_binary(ScalarOp op, ElementType type, int64_t a, int64_t b);
int64_t integer_unary(ScalarOp op, ElementType type, int64_t a);
/// Neutral element of a built-in monoid over integers or booleans. That of a u64 minimum is -1, which has the
/// bits of the largest value: integer_max does not fit.
int64_t integer_identity(Monoid::Kind kind, ElementType type);

/// Comparisons and logical operations give 0.0 or 1.0.
double real_binary(ScalarOp op, double a, double b);
double real_unary(ScalarOp op, double a);

/// min and max that return NaN when either side is NaN.
inline double nan_min(double a, double b) { return a < b || a != a ? a : b; }
inline double nan_max(double a, double b) { return a > b || a != a ? a : b; }
/// The remainder with the sign of the divisor: NumPy's mod.
double real_floor_mod(double a, double b);

/// Both casts of a float to an integer are integer_from_real (ir/types.h): truncated towards zero, values out
/// of range to the nearest bound, NaN to 0. (ONNX leaves the last two open.) To boolean: whether the value is
/// not 0.
int64_t integer_to_integer(ElementType from, ElementType to, int64_t value, bool saturate);
double integer_to_real(ElementType from, int64_t value);
/// Rounds into the type. `saturate` concerns the float8 types only.
double real_to_real(ElementType to, double value, bool saturate);

}  // namespace axrun::ir
