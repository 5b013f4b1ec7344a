#include "runtime/kernels/isa/narrow.h"

#include <bit>

#include "runtime/kernels/narrow.h"

namespace axrun::runtime::AXRUN_ISA {
namespace {

// Without branches, so that the loops below become vectors.

constexpr uint32_t infinite = 0x7F800000, sign_bit = 0x80000000;

inline float from_bf16(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

/// The exponent's bias is mended by a product that is exact, subnormals included; infinities and NaN have
/// their own exponent.
inline float from_f16(uint16_t bits) {
  constexpr uint32_t magnitude = 0x7FFF, infinity = 0x7C00, quiet = 0x00400000;
  constexpr float bias = 0x1p112f;
  const uint32_t low = bits & magnitude, sign = static_cast<uint32_t>(bits & ~magnitude) << 16;
  const uint32_t shifted = low << 13;
  const auto finite = std::bit_cast<uint32_t>(std::bit_cast<float>(shifted) * bias);
  const uint32_t special = shifted | infinite | (low > infinity ? quiet : 0);
  return std::bit_cast<float>(sign | (low < infinity ? finite : special));
}

inline uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t magnitude = bits & ~sign_bit;
  const uint32_t rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
  const uint32_t quiet_nan = bits >> 16 | 0x40;
  return static_cast<uint16_t>(magnitude > infinite ? quiet_nan : rounded);
}

inline uint16_t to_f16(float value) {
  constexpr uint32_t dropped = 13;                        // bits of the mantissa
  constexpr uint32_t smallest_normal = (127 - 14) << 23;  // as f32
  constexpr uint32_t too_large = (127 + 16) << 23;        // less than it may still round up to infinity
  constexpr uint32_t rebias = (127 - 15) << 23;
  constexpr uint32_t half = (1 << (dropped - 1)) - 1;
  // A number whose last bit is the last one of a subnormal f16: adding it rounds there.
  constexpr uint32_t aligned = (127 - 14 + dropped) << 23;
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits & sign_bit, magnitude = bits ^ sign;
  const uint32_t normal = (magnitude - rebias + half + (magnitude >> dropped & 1)) >> dropped;
  const float sum = std::bit_cast<float>(magnitude) + std::bit_cast<float>(aligned);
  const uint32_t subnormal = std::bit_cast<uint32_t>(sum) - aligned;
  const uint32_t special = magnitude > infinite ? 0x7E00 : 0x7C00;
  const uint32_t finite = magnitude < smallest_normal ? subnormal : normal;
  return static_cast<uint16_t>(sign >> 16 | (magnitude < too_large ? finite : special));
}

}  // namespace

void widen(NarrowFloat type, int64_t count, const uint16_t* x, float* y) {
  if (type == NarrowFloat::bf16) {
    for (int64_t i = 0; i < count; ++i) y[i] = from_bf16(x[i]);
  } else {
    for (int64_t i = 0; i < count; ++i) y[i] = from_f16(x[i]);
  }
}

void narrow(NarrowFloat type, int64_t count, const float* x, uint16_t* y) {
  if (type == NarrowFloat::bf16) {
    for (int64_t i = 0; i < count; ++i) y[i] = to_bf16(x[i]);
  } else {
    for (int64_t i = 0; i < count; ++i) y[i] = to_f16(x[i]);
  }
}

}  // namespace axrun::runtime::AXRUN_ISA
