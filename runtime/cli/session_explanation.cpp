#include "runtime/cli/session_explanation.h"

#include <nlohmann/json.hpp>

#include "ir/error.h"
#include "jit/calibrate.h"
#include "runtime/cli/explanation.h"
#include "runtime/cli/json_text.h"
#include "runtime/host_target.h"

namespace axrun::cli {

std::string explanation_of(runtime::Session& session, const std::vector<runtime::RuntimeValue>& inputs,
                           int runs, const runtime::RunControl* control) {
  if (runs < 1) throw Error(Fault::user, "an explanation takes at least one run");
  const auto steps = session.profile_runs(inputs, runs, control);
  Record record;
  record.threads = session.threads();
  record.forms = session.form_counts();
  record.machine = runtime::describe_machine();
  record.measurement.optimisation.status = session.optimizer_status();
  const jit::Target target = jit::calibrated(runtime::host_target());
  auto json = explanation_json(explain(std::move(record), target, steps, runs));
  json["runs"] = runs;
  for (const char* unknown : {"model", "inputs", "latency_ms", "latency_over_time", "notes"})
    json.erase(unknown);
  for (const char* unknown : {"seconds", "runs", "start_ms", "end_ms", "evidence"})
    json["optimiser"].erase(unknown);
  return line_of(json);
}

}  // namespace axrun::cli
