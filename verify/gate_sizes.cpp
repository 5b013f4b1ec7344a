#include "verify/gate_sizes.h"

#include <algorithm>
#include <set>

#include "verify/gate_inputs.h"

namespace axrun::verify {
namespace {

/// The nearest value that is claimed.
int64_t claimed(const SizeRange& range, int64_t value) {
  const int64_t first = (range.low + range.divisor - 1) / range.divisor * range.divisor;
  const int64_t last = range.high / range.divisor * range.divisor;
  return std::clamp((value + range.divisor - 1) / range.divisor * range.divisor, first,
                    std::max(first, last));
}

}  // namespace

std::vector<std::map<std::string, int64_t>> sizes_to_try(const std::vector<SizeRange>& ranges, int count,
                                                         uint64_t seed, int64_t most_elements) {
  if (ranges.empty()) return {{}};
  constexpr int64_t borders[] = {1,  15, 16, 17, 31,  32,  33,  47, 63,  64,
                                 65, 7,  8,  9,  127, 128, 129, 96, 100, 255};
  Random random(seed);
  std::vector<std::map<std::string, int64_t>> assignments;
  std::set<std::vector<int64_t>> seen;
  for (int k = 0; static_cast<int>(assignments.size()) < count && k < 8 * count; ++k) {
    std::map<std::string, int64_t> assignment;
    std::vector<int64_t> values;
    int64_t elements = 1;
    for (size_t r = 0; r < ranges.size(); ++r) {
      const SizeRange& range = ranges[r];
      int64_t wish = borders[random.below(std::size(borders))];
      // In turn, each size runs through the remainders of a tile.
      if (static_cast<size_t>(k) % (ranges.size() + 1) == r) wish = 16 * random.below(4) + k / 2 % 16;
      if (random.below(8) == 0) wish = range.high;
      if (k == 0) wish = range.low;
      int64_t value = claimed(range, wish);
      const int64_t room = std::max<int64_t>(most_elements / elements, 1);
      if (value > room) value = claimed(range, room / range.divisor * range.divisor);
      elements *= std::max<int64_t>(value, 1);
      assignment[range.name] = value;
      values.push_back(value);
    }
    if (seen.insert(values).second) assignments.push_back(std::move(assignment));
  }
  return assignments;
}

}  // namespace axrun::verify
