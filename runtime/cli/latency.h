#pragma once

#include <cstddef>
#include <vector>

namespace axrun::cli {

/// Of the times of single runs, in milliseconds. Percentiles are interpolated between the nearest two.
struct Latency {
  double min = 0, mean = 0, p50 = 0, p90 = 0, p95 = 0, p99 = 0, max = 0;
  double stddev = 0;  ///< of the sample; 0 for a single run
};

/// `times_ms` must not be empty.
Latency latency_of(std::vector<double> times_ms);

/// Runs whose slow ones are far off the middle: whatever else the machine did shows in the figures.
bool is_noisy(const Latency& latency, size_t runs);

}  // namespace axrun::cli
