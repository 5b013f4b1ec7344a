#pragma once

#include <cstdint>

#include "ir/tensor.h"

namespace axrun::tests {

/// Repeatable values in [-1, 1).
inline ir::Tensor values_of(const ir::Shape& shape, uint64_t seed) {
  ir::Tensor tensor = ir::Tensor::allocate(ir::ElementType::f32, shape);
  uint64_t state = seed * 0x9E3779B97F4A7C15u + 1;
  for (int64_t k = 0; k < tensor.size(); ++k) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    tensor.set_real(k, static_cast<double>(state >> 40) / (1 << 23) - 1);
  }
  return tensor;
}

}  // namespace axrun::tests
