#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/optimizer_status.h"

namespace axrun::runtime {

/// A number that says how a session fares, named and labelled as Prometheus wants it.
struct Metric {
  enum class Kind {
    counter,  ///< only grows while the session lives
    gauge
  };
  std::string name;  ///< "axrun_runs_total"
  std::string help;  ///< the same for all of one name
  Kind kind = Kind::gauge;
  std::vector<std::pair<std::string, std::string>> labels;
  double value = 0;
};
/// Gets metrics one by one, those of one name in a row.
using MetricSink = std::function<void(const Metric&)>;

/// Runs of a session by how they ended.
struct RunCounts {
  std::atomic<int64_t> ok{0}, failed{0}, ended_early{0};
};
void report_metrics(const OptimizerStatus& status, const RunCounts& runs, const MetricSink& sink);

}  // namespace axrun::runtime
