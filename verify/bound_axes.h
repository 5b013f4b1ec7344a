#pragma once

#include <cstdint>

#include "ir/tensor.h"
#include "verify/bound_body.h"

namespace axrun::verify {

// The points that a body is evaluated at: coordinates along its axes from `begin` on, where these have the
// given extents, by row-major positions among them. Axes that nothing depends on are left out.

/// Of `count` consecutive points.
void set_consecutive_axes(BoundBody& body, size_t begin, const ir::Shape& extents, int64_t first, int count);
/// Of any points, each for `repeat` lanes.
void set_axes(BoundBody& body, size_t begin, const ir::Shape& extents, const int64_t* positions, int points,
              int repeat = 1);
/// Of one point for all lanes.
void set_uniform_axes(BoundBody& body, size_t begin, const ir::Shape& extents, int64_t position);

}  // namespace axrun::verify
