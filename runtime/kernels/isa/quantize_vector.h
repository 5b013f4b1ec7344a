#pragma once

// What quantises a vector.

#include "runtime/kernels/isa/vector.h"
#include "runtime/kernels/quantized.h"

namespace axrun::runtime::AXRUN_ISA {

typedef uint8_t Bytes __attribute__((vector_size(lanes)));

/// Rounded, shifted and clamped to [low, high], as integers; NaN becomes 0, as the IR's casts say.
AXRUN_INLINE IntVector shifted_and_clamped(Vector x, Vector zero_point, Vector low, Vector high) {
  const Vector shifted = round_even(x) + zero_point;
  return round_to_int(minimum(high, maximum(shifted, low))) & (shifted == shifted);
}

AXRUN_INLINE IntVector quantized(Vector x, Vector scale, Vector zero_point, Vector low, Vector high) {
  return shifted_and_clamped(x / scale, zero_point, low, high);
}

AXRUN_INLINE void store_bytes(IntVector v, int64_t count, uint8_t* y) {
#if defined(AXRUN_ISA_avx512)
  if (count < lanes)
    return _mm512_mask_cvtepi32_storeu_epi8(y, first_lanes(count), reinterpret_cast<__m512i>(v));
#endif
  const Bytes bytes = __builtin_convertvector(v, Bytes);
  if (count == lanes) {
    __builtin_memcpy(y, &bytes, sizeof bytes);
  } else {
    for (int64_t i = 0; i < count; ++i) y[i] = bytes[i];
  }
}

/// Of sums, as requantize_row says.
struct Requantization {
  Vector multiplier, zero_point, low, high;

  Requantization(Byte type, float m, int32_t zero)
      : multiplier(broadcast(m)),
        zero_point(broadcast(static_cast<float>(zero))),
        low(broadcast(type == Byte::u8 ? 0.0f : -128.0f)),
        high(broadcast(type == Byte::u8 ? 255.0f : 127.0f)) {}
  __attribute__((always_inline)) IntVector operator()(IntVector sums) const {
    return shifted_and_clamped(to_float(sums) * multiplier, zero_point, low, high);
  }
};

}  // namespace axrun::runtime::AXRUN_ISA
