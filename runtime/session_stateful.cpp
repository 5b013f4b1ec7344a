#include "runtime/session_stateful.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "runtime/bound_output.h"
#include "runtime/counted_run.h"
#include "runtime/run_state.h"
#include "runtime/state/state_values.h"

namespace axrun::runtime {

std::shared_ptr<StatefulModel> Session::Stateful::model_for(const SessionState& of,
                                                            const std::map<std::string, std::string>& feeds) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<StatefulModel>& model = models_[feeds];
  if (!model) {
    try {
      model = std::make_shared<StatefulModel>(of, feeds, number_);
      if (frozen) model->freeze();
    } catch (...) {
      models_.erase(feeds);
      throw;
    }
  }
  return model;
}

std::vector<std::shared_ptr<StatefulModel>> Session::Stateful::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<StatefulModel>> models;
  for (const auto& [feeds, model] : models_) models.push_back(model);
  return models;
}

uint64_t Session::Stateful::next_number() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

SessionState& Session::in_use() const {
  SessionState* const ran = stateful_->ran_last.load(std::memory_order_relaxed);
  return ran != nullptr ? *ran : *state_;
}

std::unique_ptr<RunState> Session::new_state(const std::map<std::string, std::string>& feeds,
                                             int64_t capacity) {
  if (capacity < 1) throw Error(Fault::user, fmt::format("a state cannot have a capacity of {}", capacity));
  return std::unique_ptr<RunState>(
      new RunState(std::make_unique<StateValues>(stateful_->model_for(*state_, feeds), capacity)));
}

void Session::run_state(RunState& state, const std::vector<RuntimeValue>& given,
                        std::vector<RuntimeValue>& results, const RunControl* control,
                        const OutputMaker* make) {
  StateValues& values = *state.values_;
  StatefulModel& model = values.model();
  if (!stateful_->has(model)) throw Error(Fault::user, "the state is of another session");
  if (given.size() != state_->inputs.size()) {
    throw Error(Fault::user,
                fmt::format("the model has {} inputs, {} were given", state_->inputs.size(), given.size()));
  }
  for (size_t k = 0; k < results.size(); ++k) {
    if (model.keeps_output(k) && results[k].tensor.defined())
      throw Error(Fault::user,
                  fmt::format("output '{}' is kept by the state: it has no buffer", state_->outputs[k].name));
  }
  const StateValues::Use use(values);
  // The caller's tensors are not kept, but for the memory of their shapes.
  struct Drop {
    StateValues& values;
    ~Drop() {
      for (RuntimeValue& value : values.inputs) value.tensor = ir::Tensor();
      for (RuntimeValue& value : values.outputs) value = RuntimeValue();
    }
  } const drop{values};
  for (size_t k = 0; k < given.size(); ++k) {
    if (!model.keeps_input(k)) values.inputs[k] = given[k];
  }
  for (size_t k = 0; k < results.size(); ++k) {
    if (!model.keeps_output(k)) values.outputs[k] = results[k];
  }
  for (StateValue& value : values.values()) value.give(values.inputs, values.outputs);
  SessionState& session = model.session();
  session.check(values.inputs);
  stateful_->note_ran(&session);
  if (session.options.tier == Tier::reference) {
    values.outputs = session.run_reference(values.inputs, control);
  } else if (make == nullptr) {
    session.run_plan(values.inputs, values.outputs, control);
  } else {
    struct {
      const StatefulModel& model;
      const OutputMaker& of;
    } const asked{model, *make};
    const OutputMaker others = [&asked](size_t output, ir::ElementType type, const ir::Shape& shape) {
      const bool is_callers = output < asked.model.model_outputs() && !asked.model.keeps_output(output);
      return is_callers ? asked.of(output, type, shape) : ir::Tensor();
    };
    const SessionState::Making making{others, values.shape};
    session.run_plan(values.inputs, values.outputs, control, &making);
  }
  // Whatever may yet be refused is, before the state goes on.
  for (const StateValue& value : values.values()) value.check(values.outputs);
  for (size_t k = 0; k < results.size(); ++k) {
    if (results[k].tensor.defined())
      require_fit(state_->outputs[k], values.outputs[k].tensor, results[k].tensor);
  }
  for (StateValue& value : values.values()) value.take(values.outputs);
  for (size_t k = 0; k < results.size(); ++k)
    results[k] = model.keeps_output(k) ? RuntimeValue() : std::move(values.outputs[k]);
}

std::vector<RuntimeValue> Session::run(const std::vector<RuntimeValue>& inputs, RunState& state,
                                       const RunControl* control) {
  std::vector<RuntimeValue> outputs(state_->outputs.size());
  counted_run(state_->counts, [&] { run_state(state, inputs, outputs, control, nullptr); });
  return outputs;
}

RunState::RunState(std::unique_ptr<StateValues> values) : values_(std::move(values)) {}
RunState::~RunState() = default;

int64_t RunState::capacity() const { return values_->capacity(); }

int64_t RunState::length() const {
  const StateValues::Use use(*values_);
  int64_t length = 0;
  for (const StateValue& value : values_->values()) length = std::max(length, value.length());
  return length;
}

bool RunState::has_input(size_t input) const {
  return input < values_->model().model_inputs() && values_->model().keeps_input(input);
}
bool RunState::has_output(size_t output) const {
  return output < values_->model().model_outputs() && values_->model().keeps_output(output);
}

void RunState::reset() {
  const StateValues::Use use(*values_);
  for (StateValue& value : values_->values()) value.reset();
}

std::unique_ptr<RunState> RunState::fork() const {
  return std::unique_ptr<RunState>(new RunState(values_->fork()));
}

void RunState::set(const std::string& input, const ir::Tensor& value) {
  const StateValues::Use use(*values_);
  values_->value_of(input).set(value);
}

ir::Tensor RunState::get(const std::string& input) const {
  const StateValues::Use use(*values_);
  return values_->value_of(input).get();
}

}  // namespace axrun::runtime
