#pragma once

// How one element of each type is stored, read and written: the table behind Tensor's conversions.

#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "ir/error.h"
#include "ir/types.h"

namespace axrun::ir {

/// `Stored` is the memory type; the four functions convert one stored element to and from the widest real and
/// the widest integer. u64 travels through int64_t by its bits.
template <ElementType type, typename StoredType>
struct Element {
  using Stored = StoredType;
  static constexpr bool is_plain_float = std::is_floating_point_v<Stored>;

  static double to_real(Stored stored) {
    if constexpr (is_plain_float) {
      return static_cast<double>(stored);
    } else if constexpr (type == ElementType::f16) {
      return f16_to_double(stored);
    } else if constexpr (type == ElementType::bf16) {
      return bf16_to_double(stored);
    } else if constexpr (is_f8) {
      return f8_to_double(type, stored);
    } else if constexpr (type == ElementType::u64) {
      return static_cast<double>(stored);
    } else {
      return static_cast<double>(to_integer(stored));
    }
  }

  static int64_t to_integer(Stored stored) {
    if constexpr (is_float_type) {
      return integer_from_real(ElementType::i64, to_real(stored));
    } else if constexpr (type == ElementType::boolean || is_sub_byte) {
      return wrap_to(type, stored);
    } else {
      return static_cast<int64_t>(stored);
    }
  }

  static Stored from_real(double value) {
    if constexpr (is_plain_float) {
      return static_cast<Stored>(value);
    } else if constexpr (type == ElementType::f16) {
      return f16_from_double(value);
    } else if constexpr (type == ElementType::bf16) {
      return bf16_from_double(value);
    } else if constexpr (is_f8) {
      return f8_from_double(type, value, /*saturate=*/true);
    } else {
      return static_cast<Stored>(integer_from_real(type, value));
    }
  }

  static Stored from_integer(int64_t value) {
    if constexpr (is_plain_float) {
      return static_cast<Stored>(value);
    } else if constexpr (is_float_type) {
      const bool negative = value < 0;
      const uint64_t bits = static_cast<uint64_t>(value);
      const double real = rounded_to_odd(negative ? 0 - bits : bits);
      return from_real(negative ? -real : real);
    } else if constexpr (type == ElementType::boolean || is_sub_byte) {
      return static_cast<Stored>(wrap_to(type, value));
    } else {
      return static_cast<Stored>(value);  // modulo 2^bits since C++20
    }
  }

  /// A double that rounds on to any type narrower than f64 as the integer itself does: dropped bits stay
  /// visible in the lowest kept one. (Rounding to nearest twice would miss halfway cases.)
  static double rounded_to_odd(uint64_t magnitude) {
    const int excess = 64 - 53 - std::countl_zero(magnitude);
    if (excess <= 0) return static_cast<double>(magnitude);
    const uint64_t kept = magnitude >> excess << excess;
    return static_cast<double>(kept == magnitude ? kept : kept | (uint64_t{1} << excess));
  }

 private:
  static constexpr bool is_f8 = type == ElementType::f8e4m3fn || type == ElementType::f8e4m3fnuz ||
                                type == ElementType::f8e5m2 || type == ElementType::f8e5m2fnuz ||
                                type == ElementType::f8e8m0 || type == ElementType::f4e2m1 ||
                                type == ElementType::f6e2m3 || type == ElementType::f6e3m2;
  static constexpr bool is_float_type =
      is_plain_float || is_f8 || type == ElementType::f16 || type == ElementType::bf16;
  static constexpr bool is_sub_byte = type == ElementType::i4 || type == ElementType::u4 ||
                                      type == ElementType::i2 || type == ElementType::u2;
};

/// Calls action(Element<...>{}) with the row of a numeric type. Throws Error(user) for strings.
template <typename Action>
decltype(auto) visit_element(ElementType type, Action&& action) {
  switch (type) {
    case ElementType::f16:
      return action(Element<ElementType::f16, uint16_t>{});
    case ElementType::bf16:
      return action(Element<ElementType::bf16, uint16_t>{});
    case ElementType::f32:
      return action(Element<ElementType::f32, float>{});
    case ElementType::f64:
      return action(Element<ElementType::f64, double>{});
    case ElementType::f8e4m3fn:
      return action(Element<ElementType::f8e4m3fn, uint8_t>{});
    case ElementType::f8e4m3fnuz:
      return action(Element<ElementType::f8e4m3fnuz, uint8_t>{});
    case ElementType::f8e5m2:
      return action(Element<ElementType::f8e5m2, uint8_t>{});
    case ElementType::f8e5m2fnuz:
      return action(Element<ElementType::f8e5m2fnuz, uint8_t>{});
    case ElementType::i4:
      return action(Element<ElementType::i4, int8_t>{});
    case ElementType::i8:
      return action(Element<ElementType::i8, int8_t>{});
    case ElementType::i16:
      return action(Element<ElementType::i16, int16_t>{});
    case ElementType::i32:
      return action(Element<ElementType::i32, int32_t>{});
    case ElementType::i64:
      return action(Element<ElementType::i64, int64_t>{});
    case ElementType::u4:
      return action(Element<ElementType::u4, uint8_t>{});
    case ElementType::u8:
      return action(Element<ElementType::u8, uint8_t>{});
    case ElementType::u16:
      return action(Element<ElementType::u16, uint16_t>{});
    case ElementType::u32:
      return action(Element<ElementType::u32, uint32_t>{});
    case ElementType::u64:
      return action(Element<ElementType::u64, uint64_t>{});
    case ElementType::boolean:
      return action(Element<ElementType::boolean, uint8_t>{});
    case ElementType::f8e8m0:
      return action(Element<ElementType::f8e8m0, uint8_t>{});
    case ElementType::f4e2m1:
      return action(Element<ElementType::f4e2m1, uint8_t>{});
    case ElementType::f6e2m3:
      return action(Element<ElementType::f6e2m3, uint8_t>{});
    case ElementType::f6e3m2:
      return action(Element<ElementType::f6e3m2, uint8_t>{});
    case ElementType::i2:
      return action(Element<ElementType::i2, int8_t>{});
    case ElementType::u2:
      return action(Element<ElementType::u2, uint8_t>{});
    case ElementType::string:
    case ElementType::undefined:
      break;
  }
  throw Error(Fault::user,
              type == ElementType::string ? "a string is not a number" : "the tensor is undefined");
}

/// memcpy: borrowed buffers (mapped files) need not be aligned.
template <typename Stored>
Stored load_element(const void* data, int64_t position) {
  Stored stored;
  std::memcpy(&stored, static_cast<const char*>(data) + static_cast<size_t>(position) * sizeof(Stored),
              sizeof stored);
  return stored;
}

template <typename Stored>
void store_element(void* data, int64_t position, Stored stored) {
  std::memcpy(static_cast<char*>(data) + static_cast<size_t>(position) * sizeof(Stored), &stored,
              sizeof stored);
}

}  // namespace axrun::ir
