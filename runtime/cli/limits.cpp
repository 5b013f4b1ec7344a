#include "runtime/cli/limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace axrun::cli {

using runtime::StepProfile;

Limits::Limits(const jit::Target& target, int threads, const std::vector<StepProfile>& steps) {
  const int cores = std::clamp(threads, 1, std::max(target.cores, 1));
  flops_per_us_ = target.flops_per_second * cores / 1e6;
  for (size_t k = 0; k < target.caches.size(); ++k) {
    const jit::CacheLevel& cache = target.caches[k];
    if (cache.bytes_per_second <= 0) continue;
    const int own = cache.shared_by > 1 ? 1 : cores;
    memories_.push_back({fmt::format("cache {}", k + 1), static_cast<double>(cache.bytes) * own,
                         cache.bytes_per_second * cores / 1e6});
  }
  if (target.memory_bytes_per_second > 0) {
    memories_.push_back(
        {"memory", std::numeric_limits<double>::infinity(), target.memory_bytes_per_second * cores / 1e6});
  }
  double constants = 0;
  for (const StepProfile& step : steps) constants += step.constant_bytes;
  of_constants_ = holding(constants);
}

const Limits::Memory* Limits::holding(double bytes) const {
  const auto found =
      std::find_if(memories_.begin(), memories_.end(), [&](const Memory& one) { return bytes <= one.bytes; });
  return found == memories_.end() ? nullptr : &*found;
}

Limit Limits::of(const StepProfile& step, double us) const {
  Limit limit;
  if (flops_per_us_ > 0 && step.flops > 0) limit = {step.flops / flops_per_us_, "arithmetic"};
  const auto reading = [&](double values, double constants) {
    Limit moved;
    if (const Memory* const memory = holding(values)) moved = {values / memory->bytes_per_us, memory->name};
    if (of_constants_ != nullptr && constants > 0) {
      const double of_constants = constants / of_constants_->bytes_per_us;
      if (of_constants > moved.us) moved.by = of_constants_->name;
      moved.us += of_constants;
    }
    return moved;
  };
  Limit moved = reading(step.bytes - step.constant_bytes, step.constant_bytes);
  if (moved.us > us) moved = reading(step.result_bytes, 0);
  return moved.us > limit.us ? moved : limit;
}

}  // namespace axrun::cli
