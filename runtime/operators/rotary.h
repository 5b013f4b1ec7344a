#pragma once

#include <cstdint>

namespace axrun::runtime {

/// Rotary position embedding of vectors of `size` components (https://arxiv.org/abs/2104.09864): the pairs
/// (k, k + half), or (2k, 2k + 1) where interleaved, are turned for k < half; the components past 2 * half
/// stay.
struct Rotation {
  int64_t size = 0, half = 0;
  bool interleaved = false;

  /// y = x turned by the angles of which half cosines and sines are given. y does not overlap x.
  void apply(const float* x, const float* cosine, const float* sine, float* y) const;
};

}  // namespace axrun::runtime
