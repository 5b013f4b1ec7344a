#pragma once

#include <optional>

#include "ir/types.h"
#include "runtime/kernels/kernels.h"

namespace axrun::runtime {

/// The kernels' name of f16 and bf16; empty for other types.
inline std::optional<NarrowFloat> narrow_type(ir::ElementType type) {
  if (type == ir::ElementType::f16) return NarrowFloat::f16;
  if (type == ir::ElementType::bf16) return NarrowFloat::bf16;
  return std::nullopt;
}

/// widen and narrow, spread over the pool.
inline void widen(NarrowFloat type, int64_t count, const void* x, float* y, ThreadPool& pool) {
  constexpr int64_t grain = 16384;
  pool.parallel_for(count, grain, [&](int64_t begin, int64_t end) {
    widen(type, end - begin, static_cast<const uint16_t*>(x) + begin, y + begin);
  });
}
inline void narrow(NarrowFloat type, int64_t count, const float* x, void* y, ThreadPool& pool) {
  constexpr int64_t grain = 16384;
  pool.parallel_for(count, grain, [&](int64_t begin, int64_t end) {
    narrow(type, end - begin, x + begin, static_cast<uint16_t*>(y) + begin);
  });
}

}  // namespace axrun::runtime
