#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/metrics.h"
#include "runtime/optimizer_status.h"

namespace axrun::runtime {

/// Runs of a session by how they ended.
struct RunCounts {
  std::atomic<int64_t> ok{0}, failed{0}, ended_early{0};
};

/// All metrics of a session.
void report_metrics(const OptimizerStatus& status, const RunCounts& runs, const MetricSink& sink);

}  // namespace axrun::runtime
