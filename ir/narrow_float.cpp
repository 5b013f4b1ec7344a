// Bit patterns of the floats narrower than 32 bits. Everything is rounded once, directly from the double:
// going through float would round twice and miss halfway cases.
#include <bit>
#include <cmath>
#include <limits>

#include "ir/error.h"
#include "ir/types.h"

namespace axrun::ir {
namespace {

/// A binary float of at most 16 bits: sign, exponent, mantissa, from the highest bit down. Patterns without
/// sign.
struct NarrowFormat {
  int bits;
  int mantissa_bits;
  int bias;
  uint32_t largest;       ///< largest finite magnitude
  uint32_t overflow;      ///< infinity, or NaN where there is none
  uint32_t not_a_number;  ///< the NaN that is written
  bool signed_zero;       ///< false: the pattern of -0 is the only NaN ("uz" formats)
};

constexpr NarrowFormat f16_format{16, 10, 15, 0x7BFF, 0x7C00, 0x7E00, true};
constexpr NarrowFormat bf16_format{16, 7, 127, 0x7F7F, 0x7F80, 0x7FC0, true};
constexpr NarrowFormat f8e4m3fn_format{8, 3, 7, 0x7E, 0x7F, 0x7F, true};
constexpr NarrowFormat f8e4m3fnuz_format{8, 3, 8, 0x7F, 0x80, 0x80, false};
constexpr NarrowFormat f8e5m2_format{8, 2, 15, 0x7B, 0x7C, 0x7F, true};
constexpr NarrowFormat f8e5m2fnuz_format{8, 2, 16, 0x7F, 0x80, 0x80, false};

// Nothing but finite values: what is too large is the largest one.
constexpr NarrowFormat f4e2m1_format{4, 1, 1, 0x7, 0x7, 0, true};
constexpr NarrowFormat f6e2m3_format{6, 3, 1, 0x1F, 0x1F, 0, true};
constexpr NarrowFormat f6e3m2_format{6, 2, 3, 0x1F, 0x1F, 0, true};

constexpr int double_mantissa_bits = 52;
constexpr int double_bias = 1023;
constexpr uint64_t double_mantissa_mask = (uint64_t{1} << double_mantissa_bits) - 1;

template <NarrowFormat format>
uint32_t encode(double value, bool saturate) {
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  const uint32_t sign = static_cast<uint32_t>(bits >> 63) << (format.bits - 1);
  if (value != value) return format.signed_zero ? sign | format.not_a_number : format.not_a_number;

  const int exponent_field = static_cast<int>((bits >> double_mantissa_bits) & 0x7FF);
  uint32_t magnitude = format.largest + 1;
  if (exponent_field != 0x7FF) {
    // Below the normal range the unit in the last place stays that of the smallest exponent.
    const int exponent = exponent_field - double_bias;
    const int smallest = 1 - format.bias;
    const int step_exponent = exponent < smallest ? smallest : exponent;
    const int dropped_bits = double_mantissa_bits - format.mantissa_bits + (step_exponent - exponent);
    if (exponent > format.bias + 1) {
      magnitude = format.largest + 1;
    } else if (exponent_field == 0 || dropped_bits > double_mantissa_bits + 1) {
      magnitude = 0;  // less than half of the smallest subnormal
    } else {
      const uint64_t significand = (bits & double_mantissa_mask) | (uint64_t{1} << double_mantissa_bits);
      const uint64_t half = uint64_t{1} << (dropped_bits - 1);
      const uint64_t remainder = significand & (2 * half - 1);
      uint64_t kept = significand >> dropped_bits;
      if (remainder > half || (remainder == half && (kept & 1) != 0)) ++kept;
      // The leading one of a normal number adds one to the exponent field, and so does a carry out of the
      // mantissa.
      const uint64_t base = static_cast<uint64_t>(step_exponent - smallest) << format.mantissa_bits;
      magnitude = static_cast<uint32_t>(base + kept);
    }
  }
  if (magnitude > format.largest) {
    magnitude = saturate ? format.largest : format.overflow;
    if (!saturate && !format.signed_zero) return magnitude;
  }
  if (magnitude == 0 && !format.signed_zero) return 0;
  return sign | magnitude;
}

template <NarrowFormat format>
double decode(uint32_t pattern) {
  constexpr uint32_t sign_bit = uint32_t{1} << (format.bits - 1);
  constexpr double quiet_nan = std::numeric_limits<double>::quiet_NaN();
  if (!format.signed_zero && pattern == sign_bit) return quiet_nan;
  const bool negative = (pattern & sign_bit) != 0;
  const uint32_t magnitude = pattern & (sign_bit - 1);  // what is above the sign bit does not count
  double result;
  if (magnitude > format.largest) {
    const bool infinite = magnitude == format.overflow && format.overflow != format.not_a_number;
    result = infinite ? std::numeric_limits<double>::infinity() : quiet_nan;
  } else if (magnitude >> format.mantissa_bits == 0) {
    constexpr uint64_t step = static_cast<uint64_t>(1 - format.bias - format.mantissa_bits + double_bias)
                              << double_mantissa_bits;
    result = static_cast<double>(magnitude) * std::bit_cast<double>(step);
  } else {
    // The exponent moves over with its bias exchanged; the mantissa is padded on the right.
    constexpr uint64_t rebias = static_cast<uint64_t>(double_bias - format.bias) << double_mantissa_bits;
    const uint64_t widened = static_cast<uint64_t>(magnitude)
                             << (double_mantissa_bits - format.mantissa_bits);
    result = std::bit_cast<double>(widened + rebias);
  }
  return negative ? -result : result;
}

/// f8e8m0 is an exponent alone, and the pattern of all ones NaN.
constexpr int power_bias = 127;
constexpr int largest_power = 254;
constexpr uint8_t no_power = 255;

uint8_t encode_power(double value, bool saturate) {
  if (!(value >= 0)) return no_power;
  int power = largest_power + 1;
  if (value == 0) {
    power = -1;
  } else if (value <= std::numeric_limits<double>::max()) {
    int exponent = 0;
    const double fraction = std::frexp(value, &exponent);  // 0.5 <= fraction < 1
    power = exponent - 1 + (fraction >= 0.75 ? 1 : 0) + power_bias;
  }
  if (power < 0) return saturate ? 0 : no_power;
  if (power > largest_power) return saturate ? largest_power : no_power;
  return static_cast<uint8_t>(power);
}

double decode_power(uint8_t power) {
  if (power == no_power) return std::numeric_limits<double>::quiet_NaN();
  return std::ldexp(1.0, power - power_bias);
}

}  // namespace

uint16_t f16_from_double(double value) { return static_cast<uint16_t>(encode<f16_format>(value, false)); }
double f16_to_double(uint16_t bits) { return decode<f16_format>(bits); }
uint16_t bf16_from_double(double value) { return static_cast<uint16_t>(encode<bf16_format>(value, false)); }
double bf16_to_double(uint16_t bits) { return decode<bf16_format>(bits); }

uint8_t f8_from_double(ElementType type, double value, bool saturate) {
  switch (type) {
    case ElementType::f8e4m3fn:
      return static_cast<uint8_t>(encode<f8e4m3fn_format>(value, saturate));
    case ElementType::f8e4m3fnuz:
      return static_cast<uint8_t>(encode<f8e4m3fnuz_format>(value, saturate));
    case ElementType::f8e5m2:
      return static_cast<uint8_t>(encode<f8e5m2_format>(value, saturate));
    case ElementType::f8e8m0:
      return encode_power(value, saturate);
    case ElementType::f4e2m1:
      return static_cast<uint8_t>(encode<f4e2m1_format>(value, saturate));
    case ElementType::f6e2m3:
      return static_cast<uint8_t>(encode<f6e2m3_format>(value, saturate));
    case ElementType::f6e3m2:
      return static_cast<uint8_t>(encode<f6e3m2_format>(value, saturate));
    default:
      AXRUN_ASSERT(type == ElementType::f8e5m2fnuz);
  }
  return static_cast<uint8_t>(encode<f8e5m2fnuz_format>(value, saturate));
}

double f8_to_double(ElementType type, uint8_t bits) {
  switch (type) {
    case ElementType::f8e4m3fn:
      return decode<f8e4m3fn_format>(bits);
    case ElementType::f8e4m3fnuz:
      return decode<f8e4m3fnuz_format>(bits);
    case ElementType::f8e5m2:
      return decode<f8e5m2_format>(bits);
    case ElementType::f8e8m0:
      return decode_power(bits);
    case ElementType::f4e2m1:
      return decode<f4e2m1_format>(bits);
    case ElementType::f6e2m3:
      return decode<f6e2m3_format>(bits);
    case ElementType::f6e3m2:
      return decode<f6e3m2_format>(bits);
    default:
      AXRUN_ASSERT(type == ElementType::f8e5m2fnuz);
  }
  return decode<f8e5m2fnuz_format>(bits);
}

}  // namespace axrun::ir
