#include "runtime/metrics_text/metrics_text.h"

#include <prometheus/text_serializer.h>

#include <algorithm>
#include <sstream>

#include "runtime/metrics.h"

namespace axrun::runtime {

void add_metrics(const Session& session, const std::vector<std::pair<std::string, std::string>>& labels,
                 std::vector<prometheus::MetricFamily>& families) {
  session.report_metrics([&](const Metric& metric) {
    const bool counts = metric.kind == Metric::Kind::counter;
    auto family = std::find_if(families.begin(), families.end(),
                               [&](const auto& known) { return known.name == metric.name; });
    if (family == families.end()) {
      family = families.emplace(families.end());
      family->name = metric.name;
      family->help = metric.help;
      family->type = counts ? prometheus::MetricType::Counter : prometheus::MetricType::Gauge;
    }
    prometheus::ClientMetric one;
    for (const auto* list : {&labels, &metric.labels}) {
      for (const auto& [name, value] : *list) one.label.push_back({name, value});
    }
    (counts ? one.counter.value : one.gauge.value) = metric.value;
    family->metric.push_back(std::move(one));
  });
}

std::string metrics_text(const std::vector<prometheus::MetricFamily>& families) {
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, families);
  return text.str();
}

}  // namespace axrun::runtime
