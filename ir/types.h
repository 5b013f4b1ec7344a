#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "ir/api.h"

namespace axrun::ir {

/// Element types of tensors and of scalar expressions. Values are stable: caches and text forms use the
/// names.
enum class ElementType : uint8_t {
  undefined,
  f16,
  bf16,
  f32,
  f64,
  f8e4m3fn,
  f8e4m3fnuz,
  f8e5m2,
  f8e5m2fnuz,
  i4,
  i8,
  i16,
  i32,
  i64,
  u4,
  u8,
  u16,
  u32,
  u64,
  boolean,
  string,
  f8e8m0,
  f4e2m1,
  f6e2m3,
  f6e3m2,
  i2,
  u2,
};

/// Bytes of one stored element. Types narrower than a byte are stored one per byte (packed only in files);
/// string has no fixed size and answers 0.
AXRUN_API size_t size_of(ElementType type);
/// Width in bits of the value range: 4 for i4, u4 and f4e2m1, 8 for boolean.
AXRUN_API int bits_of(ElementType type);
AXRUN_API bool is_float(ElementType type);
/// True for i2..i64 and u2..u64, not for boolean.
AXRUN_API bool is_integer(ElementType type);
AXRUN_API bool is_signed_integer(ElementType type);
AXRUN_API bool is_unsigned_integer(ElementType type);
/// Range of an integer type; u64's maximum does not fit and answers INT64_MAX.
AXRUN_API int64_t integer_min(ElementType type);
AXRUN_API int64_t integer_max(ElementType type);

/// "f32", "i64", "bool", ...; parse_element_type is its inverse.
AXRUN_API std::string_view name_of(ElementType type);
AXRUN_API std::optional<ElementType> parse_element_type(std::string_view name);

/// Rounds to nearest even into the type's own grid, as a store to that type and a load back would do. Floats
/// of at most 8 bits saturate; integers and boolean go through integer_from_real.
AXRUN_API double round_to(ElementType type, double value);
/// Wraps to the type's width: two's complement for signed types, modulo 2^bits for unsigned ones; boolean
/// answers value != 0.
AXRUN_API int64_t wrap_to(ElementType type, int64_t value);
/// A real number as an element of an integer type: truncated towards zero, saturated at the type's bounds,
/// NaN is 0. u64 answers its bit pattern; boolean answers value != 0 (NaN is true).
AXRUN_API int64_t integer_from_real(ElementType type, double value);

/// Bit patterns of the narrow floats. Overflow goes to infinity, or to the largest finite value or NaN where
/// the type has no infinity (OFP8 specification 1.0; saturate selects as ONNX's Cast does). The f8 functions
/// serve every float of at most 8 bits: f4 and f6 have only finite values, NaN becomes 0; f8e8m0 has powers of
/// two, ties go up, and NaN is what negative numbers and, without saturation, everything out of range become.
AXRUN_API uint16_t f16_from_double(double value);
AXRUN_API double f16_to_double(uint16_t bits);
AXRUN_API uint16_t bf16_from_double(double value);
AXRUN_API double bf16_to_double(uint16_t bits);
AXRUN_API uint8_t f8_from_double(ElementType type, double value, bool saturate);
AXRUN_API double f8_to_double(ElementType type, uint8_t bits);

}  // namespace axrun::ir
