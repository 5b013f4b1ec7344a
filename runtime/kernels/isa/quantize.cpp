#include "runtime/kernels/isa/quantize_vector.h"
#include "runtime/kernels/isa/quantized.h"
#include "runtime/kernels/quantized.h"

namespace axrun::runtime::AXRUN_ISA {
namespace {

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
  requantize_sums(Requantization(type, multiplier, zero_point), count, sums, static_cast<uint8_t*>(y));
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
