#pragma once

#include <cstdint>

#include "ir/isa/semantics.h"

/// Float operations of x86 on bit patterns, default MXCSR: round to nearest even, no flushing, exceptions
/// masked. NaN rule: the first operand that is a NaN, quieted; without one, an invalid operation gives the
/// default NaN.
namespace axrun::ir::isa {

bool is_nan(Lane lane, uint64_t bits);
uint64_t default_nan(Lane lane);
uint64_t quieted(Lane lane, uint64_t bits);

/// f32 and f64 only; op is add, subtract, multiply, divide_float or one of the fma family, or square_root of
/// a.
uint64_t float_arithmetic(Op op, Lane lane, uint64_t a, uint64_t b, uint64_t c);
/// Less, less_equal and equal are false and not_equal is true where an operand is a NaN.
bool float_comparison(Op op, Lane lane, uint64_t a, uint64_t b);
uint64_t round_to_integral(Lane lane, uint64_t bits, int mode);
__int128 float_to_integer(Lane from, uint64_t bits, Lane to, bool nearest);
uint64_t integer_to_float(__int128 value, Lane to);
/// Between formats, nearest even; a NaN keeps its sign and the upper bits of its payload, and becomes quiet.
uint64_t convert_float(Lane from, uint64_t bits, Lane to);
uint64_t narrow_to_f16(uint64_t f32_bits, int mode);
uint64_t denormal_as_zero(Lane lane, uint64_t bits);
/// The value of a pattern that is not a NaN.
double value_of(Lane lane, uint64_t bits);

}  // namespace axrun::ir::isa
