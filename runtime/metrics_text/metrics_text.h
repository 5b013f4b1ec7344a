#pragma once

#include <prometheus/metric_family.h>

#include <string>
#include <utility>
#include <vector>

#include "runtime/session.h"

namespace axrun::runtime {

/// Adds the session's metrics, with these labels besides their own, to families of the same names or as new
/// ones.
void add_metrics(const Session& session, const std::vector<std::pair<std::string, std::string>>& labels,
                 std::vector<prometheus::MetricFamily>& families);

/// In Prometheus' text exposition format (0.0.4).
std::string metrics_text(const std::vector<prometheus::MetricFamily>& families);

}  // namespace axrun::runtime
