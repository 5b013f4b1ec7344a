#pragma once

#include <cstdint>

namespace axrun::runtime {

/// The largest magnitude of numbers that are finite; 0 where there are none.
float largest_finite(const float* values, int64_t count);

/// From `begin` on, the first number that differs from the other one by more than `most`, or where one of
/// the two is NaN or infinite; `count` where there is none.
int64_t first_apart(const float* one, const float* other, int64_t begin, int64_t count, double most);

}  // namespace axrun::runtime
