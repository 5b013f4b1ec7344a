#pragma once

#include <cstdint>

namespace axrun::runtime {

/// Floats of 16 bits; elements are their bit patterns.
enum class NarrowFloat : int32_t { f16, bf16 };

// On the calling thread. x and y do not overlap.

/// y = x: f32 holds every value of both types. NaN become quiet, as processors make them.
void widen(NarrowFloat type, int64_t count, const uint16_t* x, float* y);
/// y = x, rounded to nearest, ties to even: subnormals are kept, what is too large becomes infinite.
void narrow(NarrowFloat type, int64_t count, const float* x, uint16_t* y);

}  // namespace axrun::runtime
