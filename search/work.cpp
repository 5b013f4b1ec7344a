#include "search/work.h"

#include <algorithm>

namespace axrun::search {

bool is_worth_spreading(double flops, const jit::Target& target) {
  if (target.cores < 2) return false;
  constexpr double enough_seconds = 100e-6;
  constexpr double usual_frequency = 2.5e9;  // where the target was not calibrated
  const double per_second = target.flops_per_second > 0
                                ? target.flops_per_second
                                : usual_frequency * 2 * target.lanes(4) * std::max(1, target.fma_ports);
  return flops > enough_seconds * per_second;
}

double balance(int64_t count, int cores) {
  const int64_t turns = (count + cores - 1) / cores;
  return static_cast<double>(count) / static_cast<double>(turns * cores);
}

}  // namespace axrun::search
