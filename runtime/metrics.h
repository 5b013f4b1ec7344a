#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

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

}  // namespace axrun::runtime
