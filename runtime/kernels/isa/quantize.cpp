#include "runtime/kernels/isa/quantized.h"
#include "runtime/kernels/isa/vector.h"
#include "runtime/kernels/quantized.h"

namespace axrun::runtime::AXRUN_ISA {
namespace {

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

AXRUN_INLINE Vector load_integers(const int32_t* p) {
  return to_float(*reinterpret_cast<const UnalignedIntVector*>(p));
}

AXRUN_INLINE int32_t value_of(Byte type, const void* x, int64_t i) {
  return type == Byte::u8 ? static_cast<const uint8_t*>(x)[i] : static_cast<const int8_t*>(x)[i];
}

template <class T>
void dequantize_values(int64_t count, const T* x, float scale, int32_t zero_point, float* y) {
  for (int64_t i = 0; i < count; ++i)
    y[i] = static_cast<float>(static_cast<int32_t>(x[i]) - zero_point) * scale;
}

}  // namespace

void quantize_row(Byte type, int64_t count, const float* x, float scale, int32_t zero_point, void* y) {
  const Vector s = broadcast(scale);
  const Vector z = broadcast(static_cast<float>(zero_point));
  const Vector low = broadcast(type == Byte::u8 ? 0.0f : -128.0f);
  const Vector high = broadcast(type == Byte::u8 ? 255.0f : 127.0f);
  auto* out = static_cast<uint8_t*>(y);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) store_bytes(quantized(load(x + i), s, z, low, high), lanes, out + i);
  if (i < count)
    store_bytes(quantized(load(x + i, first_lanes(count - i)), s, z, low, high), count - i, out + i);
}

void requantize_row(Byte type, int64_t count, const int32_t* sums, float multiplier, int32_t zero_point,
                    void* y) {
  const Vector m = broadcast(multiplier);
  const Vector z = broadcast(static_cast<float>(zero_point));
  const Vector low = broadcast(type == Byte::u8 ? 0.0f : -128.0f);
  const Vector high = broadcast(type == Byte::u8 ? 255.0f : 127.0f);
  auto* out = static_cast<uint8_t*>(y);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    store_bytes(shifted_and_clamped(load_integers(sums + i) * m, z, low, high), lanes, out + i);
  if (i < count) {
    const IntVector rest = as_int(load(reinterpret_cast<const float*>(sums + i), first_lanes(count - i)));
    store_bytes(shifted_and_clamped(to_float(rest) * m, z, low, high), count - i, out + i);
  }
}

void dequantize_row(Byte type, int64_t count, const void* x, float scale, int32_t zero_point, float* y) {
  if (type == Byte::u8) {
    dequantize_values(count, static_cast<const uint8_t*>(x), scale, zero_point, y);
  } else {
    dequantize_values(count, static_cast<const int8_t*>(x), scale, zero_point, y);
  }
}

void quantize_columns(Byte type, int64_t count, const float* x, const float* scale, const void* zero_points,
                      void* y) {
  const Vector low = broadcast(type == Byte::u8 ? 0.0f : -128.0f);
  const Vector high = broadcast(type == Byte::u8 ? 255.0f : 127.0f);
  for (int64_t i = 0; i < count; i += lanes) {
    const int64_t width = smaller<int64_t>(lanes, count - i);
    const Mask mask = first_lanes(width);
    Vector zero_point = {};
    if (zero_points != nullptr) {
      for (int64_t j = 0; j < width; ++j)
        zero_point[j] = static_cast<float>(value_of(type, zero_points, i + j));
    }
    const IntVector v = quantized(load(x + i, mask), load(scale + i, mask), zero_point, low, high);
    store_bytes(v, width, static_cast<uint8_t*>(y) + i);
  }
}

void dequantize_columns(Byte type, int64_t count, const void* x, const float* scale, const void* zero_points,
                        float* y) {
  for (int64_t i = 0; i < count; ++i) {
    const int32_t zero_point = zero_points == nullptr ? 0 : value_of(type, zero_points, i);
    y[i] = static_cast<float>(value_of(type, x, i) - zero_point) * scale[i];
  }
}

}  // namespace axrun::runtime::AXRUN_ISA
