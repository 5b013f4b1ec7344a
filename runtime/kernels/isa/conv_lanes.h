#pragma once

// Inputs of neighbouring outputs, which lie a convolution's stride apart.

#include "runtime/kernels/isa/vector.h"

namespace axrun::runtime::AXRUN_ISA {

/// The first `count` lanes of a vector, `stride` apart in memory. Strides of 1 and 2 are read as one or two
/// vectors under masks.
struct StridedLanes {
  int64_t count, stride;
  Mask low, high;
};

static inline StridedLanes strided_lanes(int64_t count, int64_t stride) {
  const int64_t reach = count == 0 ? 0 : (count - 1) * stride + 1;
  const int64_t low = smaller<int64_t>(lanes, reach);
  return {count, stride, first_lanes(low), first_lanes(smaller<int64_t>(lanes, reach - low))};
}

/// stride: theirs where it is 1 or 2; else 0. Other lanes are not read, and are 0.
template <int stride>
AXRUN_INLINE Vector load(const float* from, const StridedLanes& l) {
  if (stride == 1) return load(from, l.low);
  if (stride == 2) return every_second<0>(load(from, l.low), load(from + lanes, l.high));
  Vector result = {};
  for (int64_t lane = 0; lane < l.count; ++lane) result[lane] = from[lane * l.stride];
  return result;
}

}  // namespace axrun::runtime::AXRUN_ISA
