#include "search/work.h"

#include <algorithm>

namespace axrun::search {

namespace {

/// Of one core, from the nearest level that holds so much.
double bytes_per_second(double bytes, const jit::Target& target) {
  constexpr double usual[] = {100e9, 50e9, 20e9};  // where the target was not calibrated
  for (size_t level = 0; level < target.caches.size(); ++level) {
    if (static_cast<double>(target.caches[level].bytes) < bytes) continue;
    const double measured = target.caches[level].bytes_per_second;
    return measured > 0 ? measured : usual[std::min<size_t>(level, 2)];
  }
  return target.memory_bytes_per_second > 0 ? target.memory_bytes_per_second : 10e9;
}

}  // namespace

bool is_worth_spreading(double flops, const jit::Target& target, double bytes) {
  if (target.cores < 2) return false;
  constexpr double enough_seconds = 10e-6, enough_seconds_of_moving = 20e-6;
  constexpr double usual_frequency = 2.5e9;  // where the target was not calibrated
  const double per_second = target.flops_per_second > 0
                                ? target.flops_per_second
                                : usual_frequency * 2 * target.lanes(4) * std::max(1, target.fma_ports);
  return flops / per_second > enough_seconds ||
         bytes / bytes_per_second(bytes, target) > enough_seconds_of_moving;
}

double balance(int64_t count, int cores) {
  const int64_t turns = (count + cores - 1) / cores;
  return static_cast<double>(count) / static_cast<double>(turns * cores);
}

}  // namespace axrun::search
