#include "runtime/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string_view>

#include "ir/error.h"
#include "ir/simplify.h"
#include "onnx_import/import.h"
#include "runtime/knobs.h"
#include "runtime/machine.h"
#include "runtime/node_executor.h"
#include "runtime/optimizer/optimizer.h"
#include "runtime/plan/fold_weights.h"
#include "runtime/plan/own_widening.h"
#include "runtime/plan_table.h"
#include "runtime/profiler.h"
#include "runtime/run_control.h"
#include "runtime/run_counts.h"
#include "runtime/warm/kept_schedules.h"
#include "runtime/warm/warm_start.h"

namespace axrun::runtime {

using ir::ValueFact;
using ir::ValueId;

namespace {

size_t physical_memory() {
  const int64_t bytes = physical_memory_bytes();
  return bytes > 0 ? static_cast<size_t>(bytes) : ~size_t{0};
}

bool knob_says(KnobName name, std::string_view word) {
  const char* value = knob_value(name);
  return value != nullptr && value == word;
}

Port port_of(const ir::Value& value) { return {value.name, value.kind, value.type, value.dims}; }

}  // namespace

/// What a session is made of. Only the plan table, the profile and lazily made executors change after
/// loading.
class SessionState {
 public:
  SessionState(ir::Model loaded, const SessionOptions& given);

  void check(const std::vector<RuntimeValue>& given) const;
  /// Values of one run_into call, kept for the next one so that nothing is allocated.
  struct RunBuffers {
    std::vector<RuntimeValue> inputs, outputs;
  };
  std::unique_ptr<RunBuffers> take_buffers();
  void give_back(std::unique_ptr<RunBuffers> buffers);
  PlanTable::Pinned plan_for(const std::vector<RuntimeValue>& inputs);
  std::shared_ptr<const Plan> build(const std::vector<RuntimeValue>& inputs, const PlanOptions& how) const;
  PlanOptions plan_options() const;
  void run_plan(const std::vector<RuntimeValue>& values, std::vector<RuntimeValue>& results,
                const RunControl* control);
  std::vector<RuntimeValue> run_reference(const std::vector<RuntimeValue>& values, const RunControl* control);
  void fix_sizes();
  void start_optimizer(LoadTimeWork load);
  std::shared_ptr<WarmStart> open_warm_start(const OptimizerSettings& settings);

  SessionOptions options;
  ir::Model model;
  std::vector<Port> inputs;
  std::vector<Port> outputs;
  std::unique_ptr<ThreadPool> pool;
  std::shared_ptr<PackCache> packs = std::make_shared<PackCache>();
  PlanTable plans;
  Profiler profiler;
  RunCounts counts;
  std::mutex buffers_mutex;
  std::vector<std::unique_ptr<RunBuffers>> buffers;
  std::string no_optimizer;              ///< why there is none
  std::string no_cache;                  ///< the same
  std::unique_ptr<Optimizer> optimizer;  ///< last: it uses all of the above
};

SessionState::SessionState(ir::Model loaded, const SessionOptions& given)
    : options(given), model(std::move(loaded)), plans(given.plan_cache) {
  if (options.threads <= 0) options.threads = default_threads();
  pool = ThreadPool::make(options.threads);
  fix_sizes();
  const ir::Graph& graph = *model.graph;
  for (ValueId id : graph.inputs) inputs.push_back(port_of(graph.value(id)));
  std::vector<std::string> output_names;
  for (ValueId id : graph.outputs) output_names.push_back(graph.value(id).name);
  std::vector<Port> declared;
  for (ValueId id : graph.outputs) declared.push_back(port_of(graph.value(id)));
  // The reference tier runs the graph as it came; it is simplified all the same, on a copy, so that both
  // tiers refuse the same models.
  std::shared_ptr<ir::Graph> simplified =
      options.tier == Tier::reference ? std::make_shared<ir::Graph>(graph) : model.graph;
  LoadTimeWork load;
  const ir::SimplifyReport simplification = ir::simplify(*simplified);
  load.by_definition = simplification.folded;
  load.bytes_by_definition = simplification.folded_bytes;
  if (options.tier != Tier::reference) {
    load.folded = fold_weights(*simplified, *pool);
    give_readers_own_widening(*simplified);
  }
  for (size_t k = 0; k < output_names.size(); ++k) {
    const ir::Value& value = simplified->value(simplified->outputs[k]);
    Port port = port_of(value);
    port.name = output_names[k];
    if (port.type == ir::ElementType::undefined) port = declared[k];
    outputs.push_back(std::move(port));
  }
  start_optimizer(std::move(load));
}

void SessionState::start_optimizer(LoadTimeWork load) {
  if (options.tier != Tier::automatic) {
    no_optimizer = "only the automatic tier is optimised";
  } else if (!options.optimize) {
    no_optimizer = "the session's options turn it off";
  } else if (knob_says(KnobName::optimize, "0")) {
    no_optimizer = "AXRUN_OPTIMIZE=0";
  }
  if (!no_optimizer.empty()) return;
  OptimizerHost host;
  host.graph = model.graph;
  host.plans = &plans;
  host.threads = options.threads;
  host.build = [this](const std::vector<RuntimeValue>& values, std::shared_ptr<KernelSource> kernels) {
    PlanOptions how = plan_options();
    how.kernels = std::move(kernels);
    return build(values, how);
  };
  OptimizerSettings settings;
  const char* threads = knob_value(KnobName::optimizer_threads);
  settings.threads = options.optimizer_threads > 0 ? options.optimizer_threads
                                                   : std::max(1, threads != nullptr ? std::atoi(threads) : 1);
  if (knob_says(KnobName::optimizer_priority, "normal")) settings.standing = Standing::ordinary;
  if (knob_says(KnobName::optimizer_priority, "idle")) settings.standing = Standing::idle;
  settings.deterministic = options.deterministic;
  const auto ablated = [](std::string_view part) { return knob_lists(KnobName::ablate, part); };
  settings.join = !knob_says(KnobName::swap, "always") && !ablated("fusion");
  settings.always =
      knob_says(KnobName::swap, "always") || knob_says(KnobName::swap, "join") || ablated("measurement");
  settings.schedules = !ablated("schedules");
  settings.force_layouts = knob_says(KnobName::swap, "layouts");
  settings.always = settings.always || settings.force_layouts;
  settings.join = settings.join && !settings.force_layouts;
  settings.layouts = !ablated("layouts") && (!settings.always || settings.force_layouts);
  std::shared_ptr<WarmStart> warm = open_warm_start(settings);
  const char* const reproducers = knob_value(KnobName::reproducers);
  if (reproducers != nullptr) {
    settings.reproducers = reproducers;
  } else if (warm && !warm->use().folder.empty()) {
    settings.reproducers = warm->use().folder + "/reproducers";
  }
  optimizer =
      std::make_unique<Optimizer>(std::move(host), std::move(settings), std::move(load), std::move(warm));
}

std::shared_ptr<WarmStart> SessionState::open_warm_start(const OptimizerSettings& settings) {
  if (!options.use_cache) {
    no_cache = "the session's options turn it off";
  } else if (settings.always || knob_value(KnobName::ablate) != nullptr) {
    no_cache = "AXRUN_SWAP and AXRUN_ABLATE are for tests";
  } else if (auto store = open_store(options.cache_dir, no_cache)) {
    keep_schedules_in(store);
    return std::make_shared<WarmStart>(
        std::move(store), model.graph,
        fmt::format("{} threads{}", options.threads, options.deterministic ? ", deterministic" : ""), *pool);
  }
  return nullptr;
}

void SessionState::fix_sizes() {
  ir::Graph& graph = *model.graph;
  std::map<std::string, ir::Dim> sizes;
  std::vector<std::string> names;
  for (ValueId id : graph.inputs) {
    if (graph.value(id).dims) {
      for (const ir::Dim& dim : *graph.value(id).dims) dim.collect_symbols(names);
    }
  }
  for (const auto& [name, size] : options.dims) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      throw Error(Fault::user, fmt::format("no input has a dimension named '{}'", name));
    }
    if (size < 0) throw Error(Fault::user, fmt::format("dimension '{}' cannot be {}", name, size));
    sizes.emplace(name, ir::Dim(size));
  }
  // A fixed shape fixes the names in it, for every input that has them.
  for (const auto& [name, shape] : options.shapes) {
    const auto input = std::find_if(graph.inputs.begin(), graph.inputs.end(),
                                    [&](ValueId id) { return graph.value(id).name == name; });
    if (input == graph.inputs.end())
      throw Error(Fault::user, fmt::format("the model has no input '{}'", name));
    ir::Value& value = graph.value(*input);
    if (value.dims) {
      if (value.dims->size() != shape.size()) {
        throw Error(Fault::user, fmt::format("input '{}' has shape {}, not rank {}", name,
                                             ir::to_string(*value.dims), shape.size()));
      }
      for (size_t d = 0; d < shape.size(); ++d) {
        const ir::Dim& dim = (*value.dims)[d];
        if (dim.is_constant() && dim.value() != shape[d]) {
          throw Error(Fault::user, fmt::format("input '{}' has shape {}, not {}", name,
                                               ir::to_string(*value.dims), ir::to_string(shape)));
        }
        std::vector<std::string> symbols;
        dim.collect_symbols(symbols);
        if (symbols.size() == 1 && ir::Dim::symbol(symbols[0]) == dim)
          sizes.emplace(symbols[0], ir::Dim(shape[d]));
      }
    }
    value.dims = ir::to_dims(shape);
  }
  for (ValueId id : graph.inputs) {
    ir::Value& value = graph.value(id);
    if (!value.dims || sizes.empty()) continue;
    for (ir::Dim& dim : *value.dims) dim = dim.substitute(sizes);
  }
}

void SessionState::check(const std::vector<RuntimeValue>& given) const {
  if (given.size() != inputs.size()) {
    throw Error(Fault::user,
                fmt::format("the model has {} inputs, {} were given", inputs.size(), given.size()));
  }
  std::vector<std::pair<std::string, int64_t>> sizes;  // named sizes met so far
  for (size_t k = 0; k < inputs.size(); ++k) {
    const Port& port = inputs[k];
    const RuntimeValue& value = given[k];
    if (!value.present()) {
      if (port.kind == ir::ValueKind::optional) continue;
      throw Error(Fault::user, fmt::format("input '{}' is missing", port.name));
    }
    if (port.kind != ir::ValueKind::tensor) {
      if (value.kind == ir::ValueKind::tensor && port.kind == ir::ValueKind::optional) continue;
      if (value.kind != port.kind)
        throw Error(Fault::user, fmt::format("input '{}' has the wrong kind", port.name));
      continue;
    }
    if (value.kind != ir::ValueKind::tensor)
      throw Error(Fault::user, fmt::format("input '{}' must be a tensor", port.name));
    const auto refuse = [&](const std::string& why) {
      throw Error(Fault::user, fmt::format("input '{}' is {} {}, but the model takes {} {}{}", port.name,
                                           ir::name_of(value.type), ir::to_string(value.tensor.shape()),
                                           ir::name_of(port.type),
                                           port.dims ? ir::to_string(*port.dims) : "of any rank", why));
    };
    if (port.type != ir::ElementType::undefined && value.tensor.type() != port.type) refuse("");
    if (!port.dims) continue;
    const ir::Shape& shape = value.tensor.shape();
    if (shape.size() != port.dims->size()) refuse("");
    for (size_t d = 0; d < shape.size(); ++d) {
      const ir::Dim& dim = (*port.dims)[d];
      if (dim.is_constant()) {
        if (dim.value() != shape[d]) refuse("");
        continue;
      }
      const std::string name = dim.to_string();
      const auto known =
          std::find_if(sizes.begin(), sizes.end(), [&](const auto& s) { return s.first == name; });
      if (known == sizes.end()) {
        sizes.emplace_back(name, shape[d]);
      } else if (known->second != shape[d]) {
        refuse(fmt::format(", and {} is {} in another input", name, known->second));
      }
    }
  }
}

std::unique_ptr<SessionState::RunBuffers> SessionState::take_buffers() {
  const std::lock_guard lock(buffers_mutex);
  if (buffers.empty()) {
    auto made = std::make_unique<RunBuffers>();
    made->inputs.resize(inputs.size());
    made->outputs.resize(outputs.size());
    return made;
  }
  std::unique_ptr<RunBuffers> taken = std::move(buffers.back());
  buffers.pop_back();
  return taken;
}

void SessionState::give_back(std::unique_ptr<RunBuffers> used) {
  // Assigning from an empty tensor drops the caller's buffer and keeps the capacity for the shape.
  static const ir::Tensor none;
  for (RuntimeValue& value : used->inputs) value.tensor = none;
  for (RuntimeValue& value : used->outputs) value.tensor = none;
  const std::lock_guard lock(buffers_mutex);
  buffers.push_back(std::move(used));
}

PlanOptions SessionState::plan_options() const {
  PlanOptions how;
  how.threads = options.threads;
  how.packs = packs;
  if (optimizer) how.kernels = optimizer->library();
  how.fuse = !knob_lists(KnobName::ablate, "fusion");
  how.body_plans = options.plan_cache;
  how.memory_limit = options.memory_limit > 0 ? static_cast<size_t>(options.memory_limit) : physical_memory();
  return how;
}

std::shared_ptr<const Plan> SessionState::build(const std::vector<RuntimeValue>& values,
                                                const PlanOptions& how) const {
  std::vector<ValueFact> facts;
  for (const RuntimeValue& value : values) {
    ValueFact fact;
    if (value.kind == ir::ValueKind::tensor && value.tensor.defined()) {
      fact.type = value.tensor.type();
      fact.dims = ir::to_dims(value.tensor.shape());
    }
    facts.push_back(std::move(fact));
  }
  return build_plan(model.graph, model.graph->inputs, facts, how);
}

PlanTable::Pinned SessionState::plan_for(const std::vector<RuntimeValue>& values) {
  return plans.find(values, [&] { return build(values, plan_options()); });
}

void SessionState::run_plan(const std::vector<RuntimeValue>& values, std::vector<RuntimeValue>& results,
                            const RunControl* control) {
  using Clock = std::chrono::steady_clock;
  const PlanTable::Pinned pinned = plan_for(values);
  const RunContext context{*pool, options.profile ? &profiler : nullptr, control};
  if (!optimizer) return pinned.plan->run(values, results, context);
  if (!optimizer->wants(*pinned.plan)) {
    pinned.plan->run(values, results, context);
    return optimizer->answered();
  }
  const Clock::time_point start = Clock::now();
  pinned.plan->run(values, results, context);
  optimizer->ran(*pinned.plan, values,
                 std::chrono::duration<double, std::micro>(Clock::now() - start).count());
}

std::vector<RuntimeValue> SessionState::run_reference(const std::vector<RuntimeValue>& values,
                                                      const RunControl* control) {
  ReferenceExecutor executor(*pool);
  NodeObserver note = options.profile ? profiler.node_observer() : NodeObserver();
  if (control != nullptr) {
    control->check();
    note = [control, next = std::move(note)](const auto& graph, const auto& node, const auto& results,
                                             double microseconds) {
      if (next) next(graph, node, results, microseconds);
      control->check();
    };
  }
  executor.set_observer(std::move(note));
  std::vector<RuntimeValue> outputs = executor.run(*model.graph, values, {});
  for (RuntimeValue& output : outputs) output = narrowed(output);
  return outputs;
}

// Session
// ---------------------------------------------------------------------------------------------------------

Session::Session(std::unique_ptr<SessionState> state) : state_(std::move(state)) {}
Session::~Session() = default;

std::unique_ptr<Session> Session::load(const std::string& path, const SessionOptions& options) {
  return std::unique_ptr<Session>(
      new Session(std::make_unique<SessionState>(onnx_import::import_file(path), options)));
}

std::unique_ptr<Session> Session::load_memory(const void* data, size_t size, const SessionOptions& options,
                                              const std::string& directory) {
  return std::unique_ptr<Session>(new Session(
      std::make_unique<SessionState>(onnx_import::import_memory(data, size, directory), options)));
}

const std::vector<Port>& Session::inputs() const { return state_->inputs; }
const std::vector<Port>& Session::outputs() const { return state_->outputs; }
const ir::Model& Session::model() const { return state_->model; }
int Session::threads() const { return state_->options.threads; }
Tier Session::tier() const { return state_->options.tier; }

namespace {

/// A run, counted as what it ends as.
template <class Run>
void counted(RunCounts& counts, const Run& run) {
  std::atomic<int64_t>* end = &counts.failed;
  struct Count {
    std::atomic<int64_t>*& end;
    ~Count() { end->fetch_add(1, std::memory_order_relaxed); }
  } const count{end};
  try {
    run();
    end = &counts.ok;
  } catch (const RunEnded&) {
    end = &counts.ended_early;
    throw;
  }
}

}  // namespace

std::vector<RuntimeValue> Session::run(const std::vector<RuntimeValue>& inputs, const RunControl* control) {
  std::vector<RuntimeValue> outputs(state_->outputs.size());
  counted(state_->counts, [&] {
    state_->check(inputs);
    if (state_->options.tier == Tier::reference) {
      outputs = state_->run_reference(inputs, control);
    } else {
      state_->run_plan(inputs, outputs, control);
    }
  });
  return outputs;
}

void Session::run_into(const std::vector<ir::Tensor>& inputs, std::vector<ir::Tensor>& outputs,
                       const RunControl* control) {
  if (outputs.empty()) outputs.resize(state_->outputs.size());
  if (outputs.size() != state_->outputs.size()) {
    throw Error(Fault::user, fmt::format("the model has {} outputs, {} were given", state_->outputs.size(),
                                         outputs.size()));
  }
  if (inputs.size() != state_->inputs.size()) {
    throw Error(Fault::user,
                fmt::format("the model has {} inputs, {} were given", state_->inputs.size(), inputs.size()));
  }
  std::unique_ptr<SessionState::RunBuffers> buffers = state_->take_buffers();
  for (size_t k = 0; k < inputs.size(); ++k) {
    buffers->inputs[k].tensor = inputs[k];
    buffers->inputs[k].type = inputs[k].type();
  }
  for (size_t k = 0; k < outputs.size(); ++k) {
    buffers->outputs[k].tensor = outputs[k];
    buffers->outputs[k].type = outputs[k].type();
  }
  if (state_->options.tier == Tier::reference) {
    buffers->outputs = run(buffers->inputs, control);
  } else {
    counted(state_->counts, [&] {
      state_->check(buffers->inputs);
      state_->run_plan(buffers->inputs, buffers->outputs, control);
    });
  }
  for (size_t k = 0; k < outputs.size(); ++k) {
    const RuntimeValue& result = buffers->outputs[k];
    if (result.kind != ir::ValueKind::tensor) {
      throw Error(Fault::user, fmt::format("output '{}' is not a tensor", state_->outputs[k].name));
    }
    if (outputs[k].defined() && outputs[k].data() != result.tensor.data()) {
      const bool fits =
          outputs[k].type() == result.tensor.type() && outputs[k].shape() == result.tensor.shape();
      if (!fits) {
        throw Error(Fault::user,
                    fmt::format("output '{}' is {} {}, the buffer given is {} {}", state_->outputs[k].name,
                                ir::name_of(result.tensor.type()), ir::to_string(result.tensor.shape()),
                                ir::name_of(outputs[k].type()), ir::to_string(outputs[k].shape())));
      }
      if (result.tensor.type() == ir::ElementType::string) {
        std::copy_n(result.tensor.strings(), result.tensor.size(), outputs[k].strings());
      } else if (result.tensor.bytes() > 0) {
        std::memcpy(outputs[k].data(), result.tensor.data(), result.tensor.bytes());
      }
    } else if (!outputs[k].defined()) {
      outputs[k] = result.tensor;
    }
  }
  state_->give_back(std::move(buffers));
}

void Session::prepare(const std::vector<ir::Shape>& shapes) {
  if (state_->options.tier == Tier::reference) return;
  std::vector<RuntimeValue> values;
  for (size_t k = 0; k < shapes.size(); ++k) {
    // A shape without data: nothing is read while a plan is built, but a tensor points somewhere.
    static char nowhere = 0;
    const ir::ElementType type =
        k < state_->inputs.size() ? state_->inputs[k].type : ir::ElementType::undefined;
    values.emplace_back(ir::Tensor::borrow(type, shapes[k], &nowhere));
  }
  state_->check(values);
  state_->plan_for(values);
}

OptimizerStatus Session::optimizer_status() const {
  OptimizerStatus status;
  if (state_->optimizer) {
    status = state_->optimizer->status();
  } else {
    status.reason = state_->no_optimizer;
  }
  if (status.cache.folder.empty()) status.cache.reason = state_->optimizer ? state_->no_cache : status.reason;
  status.packed_bytes = static_cast<int64_t>(state_->packs->bytes());
  return status;
}

void Session::report_metrics(const MetricSink& sink) const {
  runtime::report_metrics(optimizer_status(), state_->counts, sink);
}

void Session::freeze() {
  if (state_->optimizer) state_->optimizer->freeze();
}

bool Session::wait_for_optimizer(double seconds) {
  return !state_->optimizer || state_->optimizer->wait(seconds);
}

std::vector<StepProfile> Session::profile() const { return state_->profiler.steps(); }
void Session::reset_profile() { state_->profiler.reset(); }

std::vector<StepProfile> Session::profile_runs(const std::vector<RuntimeValue>& inputs, int runs) {
  if (state_->options.tier == Tier::reference) return {};
  state_->check(inputs);
  Profiler profiler;
  const PlanTable::Pinned pinned = state_->plan_for(inputs);
  for (int k = 0; k < runs; ++k) {
    std::vector<RuntimeValue> outputs(state_->outputs.size());
    pinned.plan->run(inputs, outputs, {*state_->pool, &profiler});
  }
  return profiler.steps();
}

std::shared_ptr<const Plan> Session::current_plan(const std::vector<ir::Shape>& shapes) {
  return state_->plans.current(shapes);
}

std::optional<Divergence> Session::first_divergence(const std::vector<RuntimeValue>& inputs,
                                                    double tolerance) {
  state_->check(inputs);
  const ir::Graph& graph = *state_->model.graph;
  std::map<std::string, RuntimeValue> expected;  // by value name: nodes of the main graph only
  ReferenceExecutor executor(*state_->pool);
  executor.set_observer(
      [&](const ir::Graph& where, const ir::Node& node, const std::vector<RuntimeValue>& results, double) {
        if (&where != &graph) return;
        for (size_t k = 0; k < node.outputs.size() && k < results.size(); ++k) {
          if (node.outputs[k] != ir::absent) expected[graph.value(node.outputs[k]).name] = results[k];
        }
      });
  executor.run(graph, inputs, {});
  if (state_->options.tier == Tier::reference) return std::nullopt;

  // Unfused, so that every node's result is there to be looked at.
  PlanOptions how = state_->plan_options();
  how.fuse = false;
  how.reuse_buffers = false;
  const std::shared_ptr<const Plan> plan = state_->build(inputs, how);
  std::optional<Divergence> first;
  std::vector<RuntimeValue> outputs(state_->outputs.size());
  plan->run_inspected(
      inputs, outputs, {*state_->pool}, [&](const Step& step, size_t k, const ir::Tensor& got) {
        if (first || !ir::is_float(got.type())) return;
        const std::string& name = graph.value(step.outputs[k]).name;
        const auto found = expected.find(name);
        if (found == expected.end() || found->second.tensor.shape() != got.shape()) return;
        const ir::Tensor& want = found->second.tensor;
        Divergence divergence{step.node->name, step.node->op, name, 0, 0};
        for (int64_t i = 0; i < want.size(); ++i) {
          const double w = want.get_real(i);
          const double g = got.get_real(i);
          if (std::isfinite(w)) divergence.scale = std::max(divergence.scale, std::fabs(w));
          if (w == g || (std::isnan(w) && std::isnan(g))) continue;
          const double error = std::fabs(w - g);
          divergence.max_error = std::max(divergence.max_error, std::isnan(error) ? HUGE_VAL : error);
        }
        if (divergence.max_error > tolerance * std::max(divergence.scale, 0.01)) first = divergence;
      });
  return first;
}

void Session::publish(const std::vector<ir::Shape>& shapes, std::shared_ptr<const Plan> plan) {
  state_->plans.publish(shapes, std::move(plan));
}

}  // namespace axrun::runtime
