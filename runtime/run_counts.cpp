#include "runtime/run_counts.h"

namespace axrun::runtime {
namespace {

using State = OptimizerStatus::State;
constexpr State states[] = {State::off,    State::waiting, State::working,
                            State::paused, State::frozen,  State::stopped};

}  // namespace

void report_metrics(const OptimizerStatus& status, const RunCounts& runs, const HeldMemory& memory,
                    const MetricSink& sink) {
  const auto counter = [&](const char* name, const char* help, double value,
                           std::vector<std::pair<std::string, std::string>> labels = {}) {
    sink({name, help, Metric::Kind::counter, std::move(labels), value});
  };
  const auto gauge = [&](const char* name, const char* help, double value,
                         std::vector<std::pair<std::string, std::string>> labels = {}) {
    sink({name, help, Metric::Kind::gauge, std::move(labels), value});
  };
  const auto number = [](auto value) { return static_cast<double>(value); };

  const char* const of_runs = "Runs of the model, by how they ended";
  counter("axrun_runs_total", of_runs, number(runs.ok.load()), {{"result", "ok"}});
  counter("axrun_runs_total", of_runs, number(runs.failed.load()), {{"result", "failed"}});
  counter("axrun_runs_total", of_runs, number(runs.ended_early.load()), {{"result", "ended_early"}});
  for (const State state : states) {
    gauge("axrun_optimizer_state", "1 for what the optimiser is doing", state == status.state ? 1 : 0,
          {{"state", name_of(state)}});
  }
  counter("axrun_optimizer_candidates_total", "Kernels that have been judged", number(status.tried));
  gauge("axrun_optimizer_candidates_left", "Kernels known of, not judged yet", number(status.left));
  counter("axrun_optimizer_worker_starts_total", "Starts of the helper process",
          number(status.worker_starts));
  gauge("axrun_steps", "Steps with a kernel in the plan looked at last", number(status.steps));
  gauge("axrun_steps_generated", "Of them, with a generated kernel", number(status.swapped));
  if (status.speedup > 0)
    gauge("axrun_speedup", "Of the model over the plan it started with, as measured", status.speedup);
  gauge("axrun_code_bytes", "Machine code in use", number(status.code_bytes));
  gauge("axrun_prepared_bytes", "Constants in the forms that generated kernels want",
        number(status.prepared_bytes));
  gauge("axrun_packed_bytes", "Constants in the forms that precompiled kernels want",
        number(status.packed_bytes));
  gauge("axrun_arena_bytes", "Memory of intermediate tensors that waits for runs", number(memory.arenas));
  gauge("axrun_state_bytes", "Memory of states that runs hand on", number(memory.states));
}

}  // namespace axrun::runtime
