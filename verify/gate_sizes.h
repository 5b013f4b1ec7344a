#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace axrun::verify {

/// A size and the values that are claimed for it: low <= value <= high, a multiple of divisor.
struct SizeRange {
  std::string name;
  int64_t low = 1;
  int64_t high = 1;
  int64_t divisor = 1;
};

/// About `count` assignments at which kernels with tiles go wrong: the smallest and largest sizes, every
/// remainder modulo 16, next to multiples of 8, 16, 32, 64, and random ones; each size in turn while the
/// others vary. Values are at most `most_elements` taken together (their product), as long as the lows are.
/// One empty assignment where there are no sizes.
std::vector<std::map<std::string, int64_t>> sizes_to_try(const std::vector<SizeRange>& ranges, int count,
                                                         uint64_t seed, int64_t most_elements = 1 << 16);

}  // namespace axrun::verify
