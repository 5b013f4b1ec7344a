#include <cstdlib>
#include <cstring>

#include "runtime/c_api_handles.h"
#include "runtime/cli/session_explanation.h"

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

axrun_status axrun_explain(axrun_request* request, int runs, char** json) {
  return guarded([&] {
    require(request != nullptr && json != nullptr, "request or json is NULL");
    const RunInProgress run(*request);
    const std::string text =
        axrun::cli::explanation_of(request->session, request->input_values(), runs, &request->control);
    char* copy = static_cast<char*>(std::malloc(text.size() + 1));
    if (copy == nullptr) throw std::bad_alloc();
    std::memcpy(copy, text.c_str(), text.size() + 1);
    *json = copy;
  });
}

void axrun_text_free(char* text) { std::free(text); }
