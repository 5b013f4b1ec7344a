#include "ir/isa/float_rules.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "ir/error.h"

namespace axrun::ir::isa {
namespace {

struct Format {
  int bits, fraction;
  uint64_t sign() const { return uint64_t{1} << (bits - 1); }
  uint64_t fraction_mask() const { return (uint64_t{1} << fraction) - 1; }
  uint64_t exponent_mask() const { return sign() - 1 - fraction_mask(); }
  uint64_t quiet() const { return uint64_t{1} << (fraction - 1); }
};

Format format_of(Lane lane) {
  switch (lane) {
    case Lane::f16:
      return {16, 10};
    case Lane::bf16:
      return {16, 7};
    case Lane::f32:
      return {32, 23};
    case Lane::f64:
      return {64, 52};
    default:
      break;
  }
  AXRUN_ASSERT(false);
}

template <class Float, class Bits>
uint64_t arithmetic(Op op, Bits a_bits, Bits b_bits, Bits c_bits) {
  const Float a = std::bit_cast<Float>(a_bits), b = std::bit_cast<Float>(b_bits),
              c = std::bit_cast<Float>(c_bits);
  const auto pattern = [](Float value) { return static_cast<uint64_t>(std::bit_cast<Bits>(value)); };
  // Negating a factor or the addend is exact, and what results of a NaN was dealt with by the caller.
  switch (op) {
    case Op::add:
      return pattern(a + b);
    case Op::subtract:
      return pattern(a - b);
    case Op::multiply:
      return pattern(a * b);
    case Op::divide_float:
      return pattern(a / b);
    case Op::square_root:
      return pattern(std::sqrt(a));
    case Op::scale: {
      // Exact in double: the result is rounded once, where it becomes a float.
      const double power = std::ldexp(1.0, static_cast<int>(std::clamp<double>(std::floor(b), -400, 400)));
      const double factor = std::isinf(b) ? (b < 0 ? 0.0 : INFINITY) : power;
      return pattern(static_cast<Float>(a * factor));
    }
    case Op::fma:
      return pattern(std::fma(a, b, c));
    case Op::fms:
      return pattern(std::fma(a, b, -c));
    case Op::fnma:
      return pattern(std::fma(-a, b, c));
    case Op::fnms:
      return pattern(std::fma(-a, b, -c));
    default:
      break;
  }
  AXRUN_ASSERT(false);
}

/// To an integral value; modes as of Op::round. Independent of the rounding mode of the thread.
double rounded(double value, int mode) {
  const double down = std::floor(value), up = std::ceil(value);
  if (down == up) return value;
  if (mode == 1) return down;
  if (mode == 2) return std::copysign(up, value);
  if (mode == 3) return std::trunc(value);
  const double below = value - down, above = up - value;
  const bool even_is_down = std::fmod(down, 2.0) == 0;
  return std::copysign(below < above || (below == above && even_is_down) ? down : up, value);
}

uint64_t from_double(Lane lane, double value) {
  if (lane == Lane::f64) return std::bit_cast<uint64_t>(value);
  AXRUN_ASSERT(lane == Lane::f32);
  return std::bit_cast<uint32_t>(static_cast<float>(value));
}

/// Moves sign and the upper part of the payload between formats.
uint64_t convert_nan(Format from, uint64_t bits, Format to) {
  const uint64_t sign = bits & from.sign() ? to.sign() : 0;
  const uint64_t fraction = bits & from.fraction_mask();
  const uint64_t moved = from.fraction > to.fraction ? fraction >> (from.fraction - to.fraction)
                                                     : fraction << (to.fraction - from.fraction);
  return sign | to.exponent_mask() | moved | to.quiet();
}

}  // namespace

bool is_nan(Lane lane, uint64_t bits) {
  const Format format = format_of(lane);
  return (bits & format.exponent_mask()) == format.exponent_mask() && (bits & format.fraction_mask()) != 0;
}

uint64_t default_nan(Lane lane) {
  const Format format = format_of(lane);
  return format.sign() | format.exponent_mask() | format.quiet();
}

uint64_t quieted(Lane lane, uint64_t bits) { return bits | format_of(lane).quiet(); }

uint64_t float_arithmetic(Op op, Lane lane, uint64_t a, uint64_t b, uint64_t c) {
  const bool three = op == Op::fma || op == Op::fms || op == Op::fnma || op == Op::fnms;
  const int count = three ? 3 : op == Op::square_root ? 1 : 2;
  const uint64_t operands[] = {a, b, c};
  if (op == Op::scale) {
    AXRUN_ASSERT(lane == Lane::f32);
    const bool quiet = is_nan(lane, a) && quieted(lane, a) == a;
    constexpr uint64_t infinity = 0x7f800000, negative_infinity = 0xff800000;
    if (quiet && b == infinity) return infinity;
    if (quiet && b == negative_infinity) return 0;
  }
  for (int k = 0; k < count; ++k)
    if (is_nan(lane, operands[k])) return quieted(lane, operands[k]);
  AXRUN_ASSERT(lane == Lane::f32 || lane == Lane::f64);
  const uint64_t result = lane == Lane::f32
                              ? arithmetic<float>(op, static_cast<uint32_t>(a), static_cast<uint32_t>(b),
                                                  static_cast<uint32_t>(c))
                              : arithmetic<double>(op, a, b, c);
  return is_nan(lane, result) ? default_nan(lane) : result;
}

double value_of(Lane lane, uint64_t bits) {
  if (lane == Lane::f64) return std::bit_cast<double>(bits);
  if (lane == Lane::f32) return std::bit_cast<float>(static_cast<uint32_t>(bits));
  if (lane == Lane::bf16) return std::bit_cast<float>(static_cast<uint32_t>(bits << 16));
  const Format format = format_of(lane);
  const int exponent = static_cast<int>((bits & format.exponent_mask()) >> format.fraction);
  const double fraction = static_cast<double>(bits & format.fraction_mask());
  const double magnitude = exponent == 31  ? INFINITY
                           : exponent == 0 ? std::ldexp(fraction, -24)
                                           : std::ldexp(fraction + 1024, exponent - 25);
  return bits & format.sign() ? -magnitude : magnitude;
}

bool float_comparison(Op op, Lane lane, uint64_t a, uint64_t b) {
  const bool unordered = is_nan(lane, a) || is_nan(lane, b);
  if (unordered || op == Op::unordered) return unordered && (op == Op::unordered || op == Op::not_equal);
  const double left = value_of(lane, a), right = value_of(lane, b);
  switch (op) {
    case Op::less:
      return left < right;
    case Op::less_equal:
      return left <= right;
    case Op::equal:
      return left == right;
    case Op::not_equal:
      return left != right;
    default:
      break;
  }
  AXRUN_ASSERT(false);
}

uint64_t round_to_integral(Lane lane, uint64_t bits, int mode) {
  if (is_nan(lane, bits)) return quieted(lane, bits);
  return from_double(lane, rounded(value_of(lane, bits), mode));
}

__int128 float_to_integer(Lane from, uint64_t bits, Lane to, bool nearest) {
  if (is_nan(from, bits)) return indefinite(to);
  const double value = rounded(value_of(from, bits), nearest ? 0 : 3);
  const double above = std::ldexp(1.0, bits_of(to) - (is_signed(to) ? 1 : 0));
  if (!(value < above) || value < (is_signed(to) ? -above : 0.0)) return indefinite(to);
  return static_cast<__int128>(value);
}

uint64_t integer_to_float(__int128 value, Lane to) {
  // Both casts round once: the hardware's or the compiler's conversions of 64 bits.
  if (to == Lane::f32) {
    const float result = value < 0 ? static_cast<float>(static_cast<int64_t>(value))
                                   : static_cast<float>(static_cast<uint64_t>(value));
    return std::bit_cast<uint32_t>(result);
  }
  AXRUN_ASSERT(to == Lane::f64);
  return std::bit_cast<uint64_t>(value < 0 ? static_cast<double>(static_cast<int64_t>(value))
                                           : static_cast<double>(static_cast<uint64_t>(value)));
}

uint64_t convert_float(Lane from, uint64_t bits, Lane to) {
  if (is_nan(from, bits)) return convert_nan(format_of(from), bits, format_of(to));
  if (to == Lane::f32 || to == Lane::f64) return from_double(to, value_of(from, bits));
  AXRUN_ASSERT(from == Lane::f32);
  if (to == Lane::f16) return narrow_to_f16(bits, 0);
  return (bits + 0x7fff + ((bits >> 16) & 1)) >>
         16;  // nearest even; a carry out of the largest gives infinity
}

uint64_t narrow_to_f16(uint64_t f32_bits, int mode) {
  if (is_nan(Lane::f32, f32_bits)) return convert_float(Lane::f32, f32_bits, Lane::f16);
  const double value = value_of(Lane::f32, f32_bits);
  const uint64_t sign = f32_bits >> 31 << 15;
  if (value == 0) return sign;
  if (std::isinf(value)) return sign | 0x7c00;
  const int exponent = std::max(std::ilogb(value), -14);
  const double steps = std::fabs(rounded(std::ldexp(value, 10 - exponent), mode));  // 2^-10 of the binade
  const double magnitude = std::ldexp(steps, exponent - 10);
  if (magnitude > 65504) {
    const bool to_infinity = mode == 0 || (mode == 1 && value < 0) || (mode == 2 && value > 0);
    return sign | (to_infinity ? 0x7c00 : 0x7bff);
  }
  if (magnitude < std::ldexp(1.0, -14)) return sign | static_cast<uint64_t>(std::ldexp(magnitude, 24));
  const int rounded_exponent = std::ilogb(magnitude);
  const auto fraction = static_cast<uint64_t>(std::ldexp(magnitude, 10 - rounded_exponent)) - 1024;
  return sign | static_cast<uint64_t>(rounded_exponent + 15) << 10 | fraction;
}

uint64_t denormal_as_zero(Lane lane, uint64_t bits) {
  const Format format = format_of(lane);
  return (bits & format.exponent_mask()) == 0 ? bits & format.sign() : bits;
}

}  // namespace axrun::ir::isa
