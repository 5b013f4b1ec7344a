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

/// Sums times a factor, perhaps with something added, as bytes: low and high are bounds after the zero point.
struct Requantization {
  Vector multiplier, addend, zero_point, low, high;

  Requantization(float m, float a, int32_t zero, float l, float h)
      : multiplier(broadcast(m)),
        addend(broadcast(a)),
        zero_point(broadcast(static_cast<float>(zero))),
        low(broadcast(l)),
        high(broadcast(h)) {}
  Requantization(Byte type, float m, int32_t zero)
      : Requantization(m, 0.0f, zero, type == Byte::u8 ? 0.0f : -128.0f, type == Byte::u8 ? 255.0f : 127.0f) {
  }

  __attribute__((always_inline)) Vector scaled(IntVector sums) const {
    return to_float(sums) * multiplier + addend;
  }
  __attribute__((always_inline)) IntVector operator()(IntVector sums) const {
    return shifted_and_clamped(scaled(sums), zero_point, low, high);
  }
  /// As floats, without a zero point.
  __attribute__((always_inline)) Vector floats(IntVector sums) const {
    return minimum(high, maximum(low, scaled(sums)));
  }
};

AXRUN_INLINE IntVector load_integers(const int32_t* sums, int64_t count) {
  if (count >= lanes) return *reinterpret_cast<const UnalignedIntVector*>(sums);
  return as_int(load(reinterpret_cast<const float*>(sums), first_lanes(count)));
}

AXRUN_INLINE void requantize_sums(const Requantization& r, int64_t count, const int32_t* sums, uint8_t* y) {
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) store_bytes(r(load_integers(sums + i, lanes)), lanes, y + i);
  if (i < count) store_bytes(r(load_integers(sums + i, count - i)), count - i, y + i);
}

AXRUN_INLINE void scale_sums(const Requantization& r, int64_t count, const int32_t* sums, float* y) {
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) store(y + i, r.floats(load_integers(sums + i, lanes)));
  if (i < count) store(y + i, r.floats(load_integers(sums + i, count - i)), first_lanes(count - i));
}

}  // namespace axrun::runtime::AXRUN_ISA
