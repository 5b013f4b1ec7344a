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

/// What a session holds beside constants and code, in bytes.
struct HeldMemory {
  int64_t arenas = 0;  ///< of intermediate tensors, while no run has them
  int64_t states = 0;  ///< RunState, each as long as its capacity
};

/// All metrics of a session.
void report_metrics(const OptimizerStatus& status, const RunCounts& runs, const HeldMemory& memory,
                    const MetricSink& sink);

}  // namespace axrun::runtime
