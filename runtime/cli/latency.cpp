#include "runtime/cli/latency.h"

#include <algorithm>
#include <cmath>

namespace axrun::cli {
namespace {

constexpr size_t fewest_to_judge = 10;
constexpr double noisy_ratio = 1.5;

double percentile(const std::vector<double>& sorted, double share) {
  const double rank = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(rank);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (rank - static_cast<double>(below));
}

}  // namespace

Latency latency_of(std::vector<double> times_ms) {
  std::sort(times_ms.begin(), times_ms.end());
  Latency latency;
  const auto count = static_cast<double>(times_ms.size());
  for (const double time : times_ms) latency.mean += time / count;
  double squares = 0;
  for (const double time : times_ms) squares += (time - latency.mean) * (time - latency.mean);
  if (times_ms.size() > 1) latency.stddev = std::sqrt(squares / (count - 1));
  latency.min = times_ms.front();
  latency.p50 = percentile(times_ms, 0.50);
  latency.p90 = percentile(times_ms, 0.90);
  latency.p95 = percentile(times_ms, 0.95);
  latency.p99 = percentile(times_ms, 0.99);
  latency.max = times_ms.back();
  return latency;
}

bool is_noisy(const Latency& latency, size_t runs) {
  return runs >= fewest_to_judge && latency.p95 > noisy_ratio * latency.p50;
}

}  // namespace axrun::cli
