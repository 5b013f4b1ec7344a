#include "runtime/c_api_handles.h"

using namespace axrun::c_api;
using axrun::runtime::Metric;

// axrun_c.h is the manual of what follows.

axrun_status axrun_session_metrics(const axrun_session* session,
                                   void (*sink)(void* context, const axrun_metric* metric), void* context) {
  return guarded([&] {
    require(session != nullptr && sink != nullptr, "session or sink is NULL");
    session->session->report_metrics([&](const Metric& metric) {
      std::vector<const char*> names, values;
      for (const auto& [name, value] : metric.labels) {
        names.push_back(name.c_str());
        values.push_back(value.c_str());
      }
      const axrun_metric given = {
          metric.name.c_str(), metric.help.c_str(), metric.kind == Metric::Kind::counter,
          names.size(),        names.data(),        values.data(),
          metric.value};
      sink(context, &given);
    });
  });
}
