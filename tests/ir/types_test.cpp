#include "ir/types.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <vector>

#include "ir/error.h"

namespace axrun::ir {
namespace {

using enum ElementType;

const std::vector<ElementType> integer_types = {i2, i4, i8, i16, i32, i64, u2, u4, u8, u16, u32, u64};
const std::vector<ElementType> float_types = {f16, bf16, f32, f64, f8e4m3fn, f8e4m3fnuz, f8e5m2, f8e5m2fnuz};
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

TEST(ElementTypes, NamesParseBack) {
  for (int index = 0; index <= static_cast<int>(u2); ++index) {
    const auto type = static_cast<ElementType>(index);
    EXPECT_EQ(parse_element_type(name_of(type)), type) << name_of(type);
  }
  EXPECT_EQ(name_of(boolean), "bool");
  EXPECT_EQ(name_of(f8e4m3fnuz), "f8e4m3fnuz");
  EXPECT_EQ(parse_element_type("float"), std::nullopt);
  EXPECT_EQ(parse_element_type(""), std::nullopt);
}

TEST(ElementTypes, SizesAndFamilies) {
  const std::map<ElementType, size_t> sizes = {{f16, 2}, {bf16, 2}, {f32, 4},     {f64, 8},   {f8e5m2, 1},
                                               {i4, 1},  {u4, 1},   {i8, 1},      {i16, 2},   {i32, 4},
                                               {i64, 8}, {u64, 8},  {boolean, 1}, {string, 0}};
  for (const auto& [type, size] : sizes) EXPECT_EQ(size_of(type), size) << name_of(type);
  EXPECT_EQ(bits_of(i4), 4);
  EXPECT_EQ(bits_of(u4), 4);
  EXPECT_EQ(bits_of(boolean), 8);
  for (const ElementType type : integer_types) {
    EXPECT_TRUE(is_integer(type)) << name_of(type);
    EXPECT_NE(is_signed_integer(type), is_unsigned_integer(type)) << name_of(type);
    EXPECT_FALSE(is_float(type)) << name_of(type);
  }
  for (const ElementType type : float_types) {
    EXPECT_TRUE(is_float(type)) << name_of(type);
    EXPECT_FALSE(is_integer(type)) << name_of(type);
  }
  for (const ElementType type : {boolean, string, undefined}) {
    EXPECT_FALSE(is_integer(type) || is_float(type)) << name_of(type);
  }
}

TEST(ElementTypes, IntegerBounds) {
  EXPECT_EQ(integer_min(i4), -8);
  EXPECT_EQ(integer_max(i4), 7);
  EXPECT_EQ(integer_min(u4), 0);
  EXPECT_EQ(integer_max(u4), 15);
  EXPECT_EQ(integer_min(i8), -128);
  EXPECT_EQ(integer_max(u16), 65535);
  EXPECT_EQ(integer_min(i32), INT32_MIN);
  EXPECT_EQ(integer_max(u32), int64_t{UINT32_MAX});
  EXPECT_EQ(integer_min(i64), INT64_MIN);
  EXPECT_EQ(integer_max(i64), INT64_MAX);
  EXPECT_EQ(integer_max(u64), INT64_MAX);
}

TEST(ElementTypes, WrapIsModuloTheWidth) {
  EXPECT_EQ(wrap_to(i4, 8), -8);
  EXPECT_EQ(wrap_to(i4, -9), 7);
  EXPECT_EQ(wrap_to(u4, -1), 15);
  EXPECT_EQ(wrap_to(i8, 200), -56);
  EXPECT_EQ(wrap_to(u8, -1), 255);
  EXPECT_EQ(wrap_to(i32, int64_t{1} << 31), INT32_MIN);
  EXPECT_EQ(wrap_to(u32, -1), int64_t{UINT32_MAX});
  EXPECT_EQ(wrap_to(i64, INT64_MIN), INT64_MIN);
  EXPECT_EQ(wrap_to(u64, -1), -1);
  EXPECT_EQ(wrap_to(boolean, 256), 1);
  std::mt19937_64 random(1);
  for (int i = 0; i < 1000; ++i) {
    const auto value = static_cast<int64_t>(random() >> (random() % 64));
    EXPECT_EQ(wrap_to(i8, value), static_cast<int8_t>(value));
    EXPECT_EQ(wrap_to(u16, value), static_cast<uint16_t>(value));
    EXPECT_EQ(wrap_to(i32, value), static_cast<int32_t>(value));
  }
}

TEST(ElementTypes, RealToIntegerTruncatesAndSaturates) {
  EXPECT_EQ(integer_from_real(i32, 2.9), 2);
  EXPECT_EQ(integer_from_real(i32, -2.9), -2);
  EXPECT_EQ(integer_from_real(u8, 300), 255);
  EXPECT_EQ(integer_from_real(u8, -0.5), 0);
  EXPECT_EQ(integer_from_real(u8, -1), 0);
  EXPECT_EQ(integer_from_real(i64, 0x1p63), INT64_MAX);
  EXPECT_EQ(integer_from_real(i64, -0x1p63), INT64_MIN);
  EXPECT_EQ(integer_from_real(i64, 0x1.fffffffffffffp62), 0x7ffffffffffffc00);
  EXPECT_EQ(static_cast<uint64_t>(integer_from_real(u64, 0x1p63)), uint64_t{1} << 63);
  EXPECT_EQ(static_cast<uint64_t>(integer_from_real(u64, 1e30)), UINT64_MAX);
  EXPECT_EQ(integer_from_real(u64, -5), 0);
  for (const ElementType type : integer_types) {
    EXPECT_EQ(integer_from_real(type, not_a_number), 0) << name_of(type);
    EXPECT_EQ(integer_from_real(type, -infinity), integer_min(type)) << name_of(type);
    EXPECT_EQ(integer_from_real(type, infinity), type == u64 ? -1 : integer_max(type)) << name_of(type);
  }
  EXPECT_EQ(integer_from_real(boolean, 0.25), 1);
  EXPECT_EQ(integer_from_real(boolean, -0.0), 0);
}

// ---- Narrow floats against a slow twin: fields read with ldexp, and nearest found by searching all values.

struct Format {
  ElementType type;
  int bits;
  int mantissa_bits;
  int bias;
  double largest;
  bool has_infinity;
  bool unsigned_zero;  // one zero, and NaN only at the pattern of -0
};

const std::vector<Format> formats = {
    {f16, 16, 10, 15, 65504, true, false},  {bf16, 16, 7, 127, 0x1.fep127, true, false},
    {f8e4m3fn, 8, 3, 7, 448, false, false}, {f8e4m3fnuz, 8, 3, 8, 240, false, true},
    {f8e5m2, 8, 2, 15, 57344, true, false}, {f8e5m2fnuz, 8, 2, 16, 57344, false, true},
};

uint32_t encode(const Format& format, double value, bool saturate = false) {
  if (format.type == f16) return f16_from_double(value);
  if (format.type == bf16) return bf16_from_double(value);
  return f8_from_double(format.type, value, saturate);
}

double decode(const Format& format, uint32_t bits) {
  if (format.type == f16) return f16_to_double(static_cast<uint16_t>(bits));
  if (format.type == bf16) return bf16_to_double(static_cast<uint16_t>(bits));
  return f8_to_double(format.type, static_cast<uint8_t>(bits));
}

double decode_slowly(const Format& format, uint32_t bits) {
  const bool negative = bits >> (format.bits - 1) != 0;
  if (format.unsigned_zero && bits == uint32_t{1} << (format.bits - 1)) return not_a_number;
  const uint32_t mantissa = bits & ((1u << format.mantissa_bits) - 1);
  const int exponent_bits = format.bits - 1 - format.mantissa_bits;
  const int exponent = static_cast<int>(bits >> format.mantissa_bits) & ((1 << exponent_bits) - 1);
  double value = exponent == 0 ? std::ldexp(mantissa, 1 - format.bias - format.mantissa_bits)
                               : std::ldexp(mantissa + (1u << format.mantissa_bits),
                                            exponent - format.bias - format.mantissa_bits);
  if (value > format.largest) value = format.has_infinity && mantissa == 0 ? infinity : not_a_number;
  return negative ? -value : value;
}

bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}

TEST(NarrowFloats, EveryPatternDecodesAndComesBack) {
  for (const Format& format : formats) {
    for (uint32_t bits = 0; bits < uint32_t{1} << format.bits; ++bits) {
      const double value = decode(format, bits);
      ASSERT_TRUE(same(value, decode_slowly(format, bits)))
          << name_of(format.type) << " " << bits << " " << value;
      for (const bool saturate : {false, true}) {
        if (std::isinf(value) && saturate) continue;
        const uint32_t back = encode(format, value, saturate);
        if (std::isnan(value)) {
          ASSERT_TRUE(std::isnan(decode(format, back))) << name_of(format.type) << " " << bits;
        } else {
          ASSERT_EQ(back, bits) << name_of(format.type) << " " << value;
        }
      }
    }
  }
}

/// Between each two neighbours: the halfway point goes to the even one, and the doubles beside it to the
/// nearer one.
TEST(NarrowFloats, HalfwayCasesRoundToEven) {
  for (const Format& format : formats) {
    for (uint32_t bits = 0; decode(format, bits) < format.largest; ++bits) {
      const double low = decode(format, bits);
      const double high = decode(format, bits + 1);
      const double middle = low + (high - low) / 2;
      const uint32_t even = bits % 2 == 0 ? bits : bits + 1;
      const uint32_t sign = uint32_t{1} << (format.bits - 1);
      const auto negative = [&](uint32_t pattern) {
        return pattern == 0 && format.unsigned_zero ? 0 : pattern | sign;
      };
      ASSERT_EQ(encode(format, middle), even) << name_of(format.type) << " " << middle;
      ASSERT_EQ(encode(format, std::nextafter(middle, 0)), bits) << name_of(format.type) << " " << middle;
      ASSERT_EQ(encode(format, std::nextafter(middle, infinity)), bits + 1)
          << name_of(format.type) << " " << middle;
      ASSERT_EQ(encode(format, -middle), negative(even)) << name_of(format.type) << " " << -middle;
      ASSERT_EQ(encode(format, -std::nextafter(middle, 0)), negative(bits))
          << name_of(format.type) << " " << -middle;
    }
  }
}

TEST(NarrowFloats, OverflowBeginsHalfAStepAboveTheLargest) {
  for (const Format& format : formats) {
    const double step = format.largest - decode(format, encode(format, format.largest) - 1);
    const double threshold = format.largest + step / 2;
    // The largest value of e4m3fn is even, so that the tie stays below; the others' is odd.
    const double last_finite = format.type == f8e4m3fn ? threshold : std::nextafter(threshold, 0);
    EXPECT_EQ(decode(format, encode(format, last_finite)), format.largest) << name_of(format.type);
    for (const double value : {std::nextafter(last_finite, infinity), 4 * format.largest, 1e300, infinity}) {
      const double result = decode(format, encode(format, value));
      EXPECT_TRUE(format.has_infinity ? result == infinity : std::isnan(result))
          << name_of(format.type) << " " << value;
      const double negative = decode(format, encode(format, -value));
      EXPECT_TRUE(format.has_infinity ? negative == -infinity : std::isnan(negative)) << name_of(format.type);
      if (format.bits != 8) continue;
      EXPECT_EQ(decode(format, encode(format, value, true)), format.largest)
          << name_of(format.type) << " " << value;
      EXPECT_EQ(decode(format, encode(format, -value, true)), -format.largest)
          << name_of(format.type) << " " << value;
    }
  }
}

TEST(NarrowFloats, ZerosAndTinyValues) {
  for (const Format& format : formats) {
    const double smallest = decode(format, 1);
    const double denormal = std::numeric_limits<double>::denorm_min();
    for (const double value : {0.0, denormal, std::numeric_limits<double>::min(), smallest / 2}) {
      EXPECT_EQ(encode(format, value), 0u) << name_of(format.type) << " " << value;
      EXPECT_EQ(encode(format, -value), format.unsigned_zero ? 0 : uint32_t{1} << (format.bits - 1))
          << name_of(format.type) << " " << value;
    }
    EXPECT_EQ(encode(format, std::nextafter(smallest / 2, 1)), 1u) << name_of(format.type);
  }
}

TEST(NarrowFloats, DirectRoundingDiffersFromRoundingThroughFloat) {
  // 1 + 2^-11 is halfway between two f16 values; the double is just above it, its float lies on it.
  const double value = 1 + 0x1p-11 + 0x1p-40;
  EXPECT_EQ(f16_to_double(f16_from_double(value)), 1 + 0x1p-10);
  EXPECT_EQ(f16_to_double(f16_from_double(static_cast<float>(value))), 1.0);
}

#ifdef __FLT16_MANT_DIG__
TEST(NarrowFloats, F16AgreesWithTheCompiler) {
  constexpr uint64_t seed = 20;
  std::mt19937_64 random(seed);
  for (int i = 0; i < 2'000'000; ++i) {
    // All exponents around the range of f16; every other value within a few bits of a halfway case.
    const uint64_t exponent = 1023 - 30 + random() % 50;
    uint64_t mantissa = random() >> 12;
    if (i % 2 == 0)
      mantissa = (mantissa >> 40 << 40) + (uint64_t{1} << (39 + random() % 13)) + random() % 5 - 2;
    const double value =
        std::bit_cast<double>((random() & 1) << 63 | exponent << 52 | (mantissa & ((uint64_t{1} << 52) - 1)));
    ASSERT_EQ(f16_from_double(value), std::bit_cast<uint16_t>(static_cast<_Float16>(value)))
        << "seed " << seed << " value " << value;
  }
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const double expected = static_cast<double>(std::bit_cast<_Float16>(static_cast<uint16_t>(bits)));
    ASSERT_TRUE(same(f16_to_double(static_cast<uint16_t>(bits)), expected)) << bits;
  }
}
#endif

TEST(NarrowFloats, Bf16AgreesWithTheUpperHalfOfAFloat) {
  std::mt19937_64 random(21);
  for (int i = 0; i < 1'000'000; ++i) {
    const auto bits = static_cast<uint32_t>(random());
    const float value = std::bit_cast<float>(i % 2 == 0 ? bits : (bits & 0xFFFF0000) | 0x8000);
    if (std::isnan(value)) continue;
    const uint32_t all = std::bit_cast<uint32_t>(value);
    const auto expected = static_cast<uint16_t>((all + 0x7FFF + ((all >> 16) & 1)) >> 16);
    ASSERT_EQ(bf16_from_double(value), expected) << value;
  }
}

TEST(RoundTo, IsTheStoreAndLoad) {
  EXPECT_EQ(round_to(f64, 0.1), 0.1);
  EXPECT_EQ(round_to(f32, 0.1), static_cast<double>(0.1f));
  EXPECT_EQ(round_to(f16, 65519.0), 65504);
  EXPECT_EQ(round_to(f16, 65520.0), infinity);
  EXPECT_EQ(round_to(bf16, 1.00390625), 1);
  EXPECT_EQ(round_to(f8e4m3fn, 1000), 448);
  EXPECT_EQ(round_to(i8, -200.5), -128);
  EXPECT_EQ(round_to(u64, 1e30), 0x1p64);
  EXPECT_EQ(round_to(boolean, -3), 1);
  EXPECT_TRUE(std::isnan(round_to(f8e5m2fnuz, not_a_number)));
  EXPECT_TRUE(std::signbit(round_to(f16, -0.0)));
  for (const ElementType type : float_types) {
    for (const double value : {0.0, 1.0, -1.5, 0.3, 1e-9, 12345.678}) {
      EXPECT_EQ(round_to(type, round_to(type, value)), round_to(type, value))
          << name_of(type) << " " << value;
    }
  }
}

TEST(Errors, BrokenInvariantsAreInternalAndNameThePlace) {
  try {
    wrap_to(f32, 1);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::internal);
    EXPECT_NE(std::string_view(error.what()).find("is_integer(type) (ir/types.cpp:"), std::string_view::npos)
        << error.what();
  }
}

TEST(NarrowFloats, OfFourAndSixBitsHaveFiniteValuesOnly) {
  const std::map<ElementType, double> largest = {{f4e2m1, 6}, {f6e2m3, 7.5}, {f6e3m2, 28}};
  for (const auto& [type, most] : largest) {
    EXPECT_EQ(size_of(type), 1u) << name_of(type);
    EXPECT_EQ(round_to(type, infinity), most) << name_of(type);
    EXPECT_EQ(round_to(type, -2 * most), -most) << name_of(type);
    EXPECT_EQ(round_to(type, not_a_number), 0) << name_of(type);
    EXPECT_TRUE(std::signbit(round_to(type, -0.0))) << name_of(type);
    for (int pattern = 0; pattern < 1 << bits_of(type); ++pattern) {
      const double value = f8_to_double(type, static_cast<uint8_t>(pattern));
      EXPECT_LE(std::fabs(value), most) << name_of(type) << pattern;
      EXPECT_EQ(f8_from_double(type, value, false), pattern) << name_of(type);
    }
  }
  // Ties go to the even mantissa.
  EXPECT_EQ(round_to(f4e2m1, 0.25), 0);
  EXPECT_EQ(round_to(f4e2m1, 0.75), 1);
  EXPECT_EQ(round_to(f4e2m1, 2.5), 2);
  EXPECT_EQ(round_to(f4e2m1, 5), 4);
  EXPECT_EQ(round_to(f4e2m1, 5.01), 6);
  EXPECT_EQ(round_to(f6e2m3, 0.0625), 0);
  EXPECT_EQ(round_to(f6e3m2, 26.1), 28);
}

TEST(NarrowFloats, PowersOfTwo) {
  EXPECT_EQ(round_to(f8e8m0, 1), 1);
  EXPECT_EQ(round_to(f8e8m0, 1.49), 1);
  EXPECT_EQ(round_to(f8e8m0, 1.5), 2);
  EXPECT_EQ(round_to(f8e8m0, 0), 0x1p-127);
  EXPECT_EQ(round_to(f8e8m0, infinity), 0x1p127);
  EXPECT_TRUE(std::isnan(round_to(f8e8m0, -1)));
  EXPECT_TRUE(std::isnan(f8_to_double(f8e8m0, f8_from_double(f8e8m0, 0x1p128, false))));
  for (int pattern = 0; pattern < 255; ++pattern) {
    const double value = f8_to_double(f8e8m0, static_cast<uint8_t>(pattern));
    EXPECT_EQ(value, std::ldexp(1, pattern - 127));
    EXPECT_EQ(f8_from_double(f8e8m0, value, false), pattern);
  }
}

}  // namespace
}  // namespace axrun::ir
