#include "runtime/optimizer/closeness.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace axrun::runtime {

float largest_finite(const float* values, int64_t count) {
  // Magnitudes are ordered like their bits.
  constexpr uint32_t magnitude = 0x7FFFFFFF, infinity = 0x7F800000;
  uint32_t largest = 0;
  for (int64_t k = 0; k < count; ++k) {
    const uint32_t bits = std::bit_cast<uint32_t>(values[k]) & magnitude;
    largest = std::max(largest, bits < infinity ? bits : 0);
  }
  return std::bit_cast<float>(largest);
}

int64_t first_apart(const float* one, const float* other, int64_t begin, int64_t count, double most) {
  const auto apart = [&](int64_t k) {
    return !(std::fabs(static_cast<double>(one[k]) - static_cast<double>(other[k])) <= most);
  };
  constexpr int64_t block = 1024;
  while (begin < count) {
    const int64_t end = std::min(count, begin + block);
    int64_t found = 0;
    for (int64_t k = begin; k < end; ++k) found += apart(k) ? 1 : 0;
    if (found == 0) {
      begin = end;
      continue;
    }
    while (!apart(begin)) ++begin;
    return begin;
  }
  return count;
}

}  // namespace axrun::runtime
