#include "search/line_conflicts.h"

#include <algorithm>
#include <numeric>

namespace axrun::search {

bool rows_conflict(int64_t rows, int64_t row_bytes, int64_t stride, const jit::Target& target) {
  constexpr int64_t page = 4096, crowded = 4;
  if (target.caches.empty() || stride <= 0) return false;
  // Rows begin at multiples of this within a page; where that is less than a row, they fill all sets alike.
  const int64_t apart = std::gcd(stride, page);
  if (apart < crowded * row_bytes) return false;
  const int64_t ways = std::max<int64_t>(1, target.caches[0].bytes / page);
  return rows > crowded * ways * (page / apart);
}

bool lines_conflict(int64_t lines, int64_t stride, const jit::Target& target) {
  constexpr int64_t page = 4096, line = 64;
  if (target.caches.empty() || stride < page) return false;
  const int64_t apart = std::max(line, std::gcd(stride, page));
  const int64_t ways = std::max<int64_t>(1, target.caches[0].bytes / page);
  return lines > ways * (page / apart);
}

}  // namespace axrun::search
