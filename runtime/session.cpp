#include "runtime/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "ir/error_place.h"
#include "onnx_import/import.h"
#include "runtime/bound_output.h"
#include "runtime/closest_word.h"
#include "runtime/counted_run.h"
#include "runtime/error_code.h"
#include "runtime/knobs.h"
#include "runtime/log.h"
#include "runtime/run_state.h"
#include "runtime/session_state.h"
#include "runtime/session_stateful.h"

namespace axrun::runtime {

Session::Session(std::unique_ptr<SessionState> state)
    : state_(std::move(state)), stateful_(std::make_unique<Stateful>()) {}
Session::~Session() = default;

namespace {

/// Once: the environment stays as it is.
void tell_unknown_variables() {
  static std::atomic<bool> told{false};
  if (told.exchange(true)) return;
  const std::vector<std::string> known = knob_names();
  for (const std::string& name : unknown_knobs()) {
    LogRecord record{LogLevel::warn, "unknown_variable", {{"name", name}}};
    const std::string meant = closest_word(name, known);
    if (!meant.empty()) record.fields.emplace_back("meant", meant);
    log(std::move(record));
  }
}

void tell_loaded(const Session& session, double milliseconds) {
  if (!logs(LogLevel::warn)) return;
  const OptimizerStatus status = session.optimizer_status();
  const CacheUse& cache = status.cache;
  for (const auto& [reason, times] : cache.refused)
    log({LogLevel::warn, "cache_refused", {{"reason", reason}, {"times", std::to_string(times)}}});
  tell_unknown_variables();
  if (!cache.trouble.empty()) log({LogLevel::warn, "cache_unusable", {{"reason", cache.trouble}}});
  if (!logs(LogLevel::info)) return;
  LogRecord record{LogLevel::info,
                   "model_loaded",
                   {{"ms", fmt::format("{:.3f}", milliseconds)},
                    {"nodes", std::to_string(session.model().graph->nodes.size())},
                    {"threads", std::to_string(session.threads())},
                    {"optimizer", name_of(status.state)}}};
  if (!status.reason.empty()) record.fields.emplace_back("reason", status.reason);
  record.fields.emplace_back("cache", cache.folder.empty() ? "none" : cache.found ? "hit" : "miss");
  if (!cache.folder.empty()) record.fields.emplace_back("cache_dir", cache.folder);
  if (!cache.reason.empty()) record.fields.emplace_back("cache_reason", cache.reason);
  log(std::move(record));
}

std::unique_ptr<SessionState> state_of(onnx_import::ImportedModel imported, const SessionOptions& options) {
  const std::vector<ir::Value> declared = std::move(imported.declared_outputs);
  return std::make_unique<SessionState>(std::move(imported), options, declared);
}

/// What `load` makes of import options, told to the log; `name` is what the log calls the model.
template <class Load>
std::unique_ptr<Session> told(const std::string& name, const SessionOptions& options, const Load& load) {
  const LogModel of_model(name);
  const auto start = std::chrono::steady_clock::now();
  try {
    std::vector<std::string> notes;
    onnx_import::ImportOptions import_options;
    import_options.operators = options.operators;
    import_options.notes = &notes;
    std::unique_ptr<Session> session = load(import_options);
    for (std::string& note : notes) {
      if (logs(LogLevel::warn)) log({LogLevel::warn, "model_note", {{"note", std::move(note)}}});
    }
    tell_loaded(*session,
                std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
    return session;
  } catch (const std::exception& error) {
    if (logs(LogLevel::error)) log({LogLevel::error, "load_failed", log_fields_of(error)});
    throw;
  }
}

}  // namespace

std::unique_ptr<Session> Session::load(const std::string& path, const SessionOptions& options) {
  return told(path, options, [&](const onnx_import::ImportOptions& how) {
    return std::unique_ptr<Session>(new Session(state_of(onnx_import::import_file(path, how), options)));
  });
}

std::unique_ptr<Session> Session::load_memory(const void* data, size_t size, const SessionOptions& options,
                                              const std::string& directory) {
  return told("memory", options, [&](const onnx_import::ImportOptions& how) {
    return std::unique_ptr<Session>(
        new Session(state_of(onnx_import::import_memory(data, size, directory, how), options)));
  });
}

std::unique_ptr<Session> Session::load_model(ir::Model model, const SessionOptions& options) {
  return std::unique_ptr<Session>(new Session(std::make_unique<SessionState>(std::move(model), options)));
}

const std::vector<Port>& Session::inputs() const { return state_->inputs; }
const std::vector<Port>& Session::outputs() const { return state_->outputs; }
const ir::Model& Session::model() const { return state_->model; }
int Session::threads() const { return state_->options.threads; }
Tier Session::tier() const { return state_->options.tier; }

std::vector<RuntimeValue> Session::run(const std::vector<RuntimeValue>& inputs, const RunControl* control) {
  std::vector<RuntimeValue> outputs(state_->outputs.size());
  stateful_->note_ran(nullptr);
  counted_run(state_->counts, [&] {
    state_->check(inputs);
    if (state_->options.tier == Tier::reference) {
      outputs = state_->run_reference(inputs, control);
    } else {
      state_->run_plan(inputs, outputs, control);
    }
  });
  return outputs;
}

namespace {

/// A run on tensors: `run` is given the values, and gives the others.
template <class Run>
void run_bound(SessionState& state, const std::vector<ir::Tensor>& inputs, std::vector<ir::Tensor>& outputs,
               const Run& run) {
  if (outputs.empty()) outputs.resize(state.outputs.size());
  if (outputs.size() != state.outputs.size()) {
    throw Error(Fault::user,
                fmt::format("the model has {} outputs, {} were given", state.outputs.size(), outputs.size()));
  }
  if (inputs.size() != state.inputs.size()) {
    throw Error(Fault::user,
                fmt::format("the model has {} inputs, {} were given", state.inputs.size(), inputs.size()));
  }
  std::unique_ptr<RunBuffers> buffers = state.take_buffers();
  for (size_t k = 0; k < inputs.size(); ++k) {
    buffers->inputs[k].tensor = inputs[k];
    buffers->inputs[k].type = inputs[k].type();
  }
  for (size_t k = 0; k < outputs.size(); ++k) {
    buffers->outputs[k].tensor = outputs[k];
    buffers->outputs[k].type = outputs[k].type();
  }
  run(*buffers);
  for (size_t k = 0; k < outputs.size(); ++k) {
    const RuntimeValue& result = buffers->outputs[k];
    if (result.kind != ir::ValueKind::tensor) {
      throw Error(Fault::user, fmt::format("output '{}' is not a tensor", state.outputs[k].name));
    }
    if (outputs[k].defined() && outputs[k].data() != result.tensor.data()) {
      deliver_bound(state.outputs[k], result.tensor, outputs[k]);
    } else if (!outputs[k].defined()) {
      outputs[k] = result.tensor;
    }
  }
  state.give_back(std::move(buffers));
}

}  // namespace

void Session::run_into(const std::vector<ir::Tensor>& inputs, std::vector<ir::Tensor>& outputs,
                       const RunControl* control, const OutputMaker* make) {
  run_bound(*state_, inputs, outputs, [&](RunBuffers& buffers) {
    if (state_->options.tier == Tier::reference) {
      buffers.outputs = this->run(buffers.inputs, control);
      return;
    }
    stateful_->note_ran(nullptr);
    counted_run(state_->counts, [&] {
      state_->check(buffers.inputs);
      if (make == nullptr) return state_->run_plan(buffers.inputs, buffers.outputs, control);
      const SessionState::Making making{*make, buffers.shape};
      state_->run_plan(buffers.inputs, buffers.outputs, control, &making);
    });
  });
}

void Session::run_into(const std::vector<ir::Tensor>& inputs, std::vector<ir::Tensor>& outputs,
                       RunState& state, const RunControl* control, const OutputMaker* make) {
  for (size_t k = 0; k < state_->outputs.size(); ++k) {
    // Before the run: a state that has gone on does not go back.
    if (state_->outputs[k].kind != ir::ValueKind::tensor && !state.has_output(k))
      throw Error(Fault::user, fmt::format("output '{}' is not a tensor", state_->outputs[k].name));
  }
  run_bound(*state_, inputs, outputs, [&](RunBuffers& buffers) {
    counted_run(state_->counts, [&] { run_state(state, buffers.inputs, buffers.outputs, control, make); });
  });
}

void Session::prepare(const std::vector<ir::Shape>& shapes) {
  if (state_->options.tier != Tier::reference) state_->prepare(shapes);
}

OptimizerStatus Session::optimizer_status() const {
  const SessionState& state = in_use();
  OptimizerStatus status;
  if (state.optimizer) {
    status = state.optimizer->status();
  } else {
    status.reason = state.no_optimizer;
  }
  if (status.cache.folder.empty()) status.cache.reason = state.optimizer ? state.no_cache : status.reason;
  status.cache.trouble = state.cache_trouble;
  status.packed_bytes = static_cast<int64_t>(state.packs->bytes());
  return status;
}

void Session::report_metrics(const MetricSink& sink) const {
  HeldMemory memory;
  std::set<const FramePool*> counted;
  const auto add = [&](SessionState& session) {
    for (const auto& plan : session.plans.all()) memory.arenas += plan->waiting_bytes(counted);
  };
  add(*state_);
  for (const auto& model : stateful_->all()) {
    add(model->session());
    memory.states += model->state_bytes();
  }
  runtime::report_metrics(optimizer_status(), state_->counts, memory, sink);
}

PackedComparison Session::compare_packed() const {
  return state_->optimizer ? state_->optimizer->compare_packed() : PackedComparison();
}

void Session::freeze() {
  if (state_->optimizer) state_->optimizer->freeze();
  stateful_->frozen = true;
  for (const auto& model : stateful_->all()) model->freeze();
}

bool Session::wait_for_optimizer(double seconds) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  const auto wait = [&](SessionState& state) {
    const double gone = std::chrono::duration<double>(Clock::now() - start).count();
    return !state.optimizer || state.optimizer->wait(std::max(0.0, seconds - gone));
  };
  bool done = wait(*state_);
  for (const auto& model : stateful_->all()) done = wait(model->session()) && done;
  return done;
}

std::vector<StepProfile> Session::profile() const { return in_use().profiler.steps(); }
void Session::reset_profile() { in_use().profiler.reset(); }

std::vector<StepProfile> Session::profile_runs(const std::vector<RuntimeValue>& inputs, int runs,
                                               const RunControl* control) {
  if (state_->options.tier == Tier::reference) return {};
  state_->check(inputs);
  Profiler profiler;
  const PlanTable::Pinned pinned = state_->plan_for(inputs);
  for (int k = 0; k < runs; ++k) {
    std::vector<RuntimeValue> outputs(state_->outputs.size());
    pinned.plan->run(inputs, outputs, {*state_->pool, &profiler, control});
  }
  return profiler.steps();
}

FormCounts Session::form_counts() const { return in_use().forms->counts(); }

std::shared_ptr<const Plan> Session::current_plan(const std::vector<ir::Shape>& shapes) {
  return state_->plans.current(shapes);
}

void Session::publish(const std::vector<ir::Shape>& shapes, std::shared_ptr<const Plan> plan) {
  state_->plans.publish(shapes, std::move(plan));
}

}  // namespace axrun::runtime
