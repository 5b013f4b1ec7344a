#pragma once

#include "ir/tensor.h"
#include "verify/interval.h"

namespace axrun::verify {

/// Row-major position -> coordinates.
inline void decode(int64_t position, const ir::Shape& extents, ir::Shape& coordinates) {
  for (size_t d = extents.size(); d-- > 0;) {
    coordinates[d] = position % extents[d];
    position /= extents[d];
  }
}

/// The next point in row-major order.
inline void advance(const ir::Shape& extents, ir::Shape& coordinates) {
  for (size_t d = extents.size(); d-- > 0;) {
    if (++coordinates[d] < extents[d]) return;
    coordinates[d] = 0;
  }
}

inline int64_t count_of(const ir::Shape& extents) {
  int64_t count = 1;
  for (int64_t extent : extents) {
    if (__builtin_mul_overflow(count, extent, &count)) throw NoBound{"a stage is too large"};
  }
  return count;
}

}  // namespace axrun::verify
