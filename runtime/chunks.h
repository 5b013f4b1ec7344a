#pragma once

#include <algorithm>
#include <cstdint>

namespace axrun::runtime {

/// Cuts [0, count) into chunks of at least `grain` indices, as large as one another: a few per thread, so
/// that an interrupted thread does not hold up the others, and as many for each where that is possible.
struct Chunks {
  Chunks(int64_t total, int64_t grain, int threads) : count(total) {
    constexpr int64_t chunks_per_thread = 4;
    number = std::clamp<int64_t>(total / grain, 1, int64_t{threads} * chunks_per_thread);
    if (number > threads && number < total) number -= number % threads;
    size = total / number;
    longer = total % number;
  }
  /// The longer ones come first: what is left at the end is short.
  int64_t begin(int64_t chunk) const { return chunk * size + std::min(chunk, longer); }
  int64_t end(int64_t chunk) const { return begin(chunk + 1); }

  int64_t count, number;

 private:
  int64_t size, longer;  ///< so many are longer by one
};

}  // namespace axrun::runtime
