#include "runtime/session_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string_view>

#include "ir/custom_operator.h"
#include "ir/error_place.h"
#include "ir/lasting.h"
#include "ir/simplify.h"
#include "runtime/free_sizes.h"
#include "runtime/knobs.h"
#include "runtime/machine.h"
#include "runtime/node_executor.h"
#include "runtime/output_ports.h"
#include "runtime/plan/fold_weights.h"
#include "runtime/plan/own_widening.h"
#include "runtime/session_policy.h"

namespace axrun::runtime {

using ir::ValueFact;
using ir::ValueId;

namespace {

/// A node whose custom operator nobody can tell from another one of its name; null: there is none.
const ir::Node* without_revision(const ir::Graph& graph) {
  for (const ir::Node& node : graph.nodes) {
    if (node.custom != nullptr && node.custom->revision().empty()) return &node;
    for (const ir::Graph* body : ir::bodies_of(node)) {
      if (const ir::Node* found = without_revision(*body)) return found;
    }
  }
  return nullptr;
}

size_t usable_memory() {
  const int64_t bytes = usable_memory_bytes();
  return bytes > 0 ? static_cast<size_t>(bytes) : ~size_t{0};
}

Standing standing_for(OptimizerPriority priority) {
  const auto is = [&](OptimizerPriority wanted, std::string_view word) {
    return priority == wanted ||
           (priority == OptimizerPriority::standard && knob_says(KnobName::optimizer_priority, word));
  };
  if (is(OptimizerPriority::normal, "normal")) return Standing::ordinary;
  return is(OptimizerPriority::idle, "idle") ? Standing::idle : Standing::assured;
}

/// A shape without data: nothing is read while a plan is built, but a tensor points somewhere.
RuntimeValue without_data(ir::ElementType type, const ir::Shape& shape) {
  static char nowhere = 0;
  return ir::Tensor::borrow(type, shape, &nowhere);
}

Port port_of(const ir::Value& value) { return {value.name, value.kind, value.type, value.dims}; }

}  // namespace

SessionState::SessionState(ir::Model loaded, const SessionOptions& given,
                           const std::vector<ir::Value>& declared, std::shared_ptr<PackCache> shared)
    : options(given), model(std::move(loaded)), plans(given.plan_cache) {
  if (shared) packs = std::move(shared);
  if (options.threads <= 0) options.threads = default_threads();
  if (!(options.optimizer_share > 0 && options.optimizer_share <= 1)) {
    throw Error(Fault::user,
                fmt::format("the optimiser's share of a processor cannot be {}: it is above 0, at most 1",
                            options.optimizer_share));
  }
  pool = options.make_pool ? options.make_pool(options.threads) : ThreadPool::make(options.threads);
  const std::map<std::string, ir::Dim> fixed = fix_sizes();
  const ir::Graph& graph = *model.graph;
  for (ValueId id : graph.inputs) inputs.push_back(port_of(graph.value(id)));
  note_named_sizes();
  std::vector<Port> imported;
  for (ValueId id : graph.outputs) imported.push_back(port_of(graph.value(id)));
  const std::vector<std::string> size_names = input_size_names(graph);
  // The reference tier runs the graph as it came; it is simplified all the same, on a copy, so that both
  // tiers refuse the same models.
  std::shared_ptr<ir::Graph> simplified =
      options.tier == Tier::reference ? std::make_shared<ir::Graph>(graph) : model.graph;
  LoadTimeWork load;
  const ir::SimplifyReport simplification = ir::simplify(*simplified, definitions.get());
  load.by_definition = simplification.folded;
  load.bytes_by_definition = simplification.folded_bytes;
  if (options.tier == Tier::reference) {
    ir::take_loop_results(*model.graph, *simplified);
  } else {
    load.folded = fold_weights(*simplified, *pool);
    give_readers_own_widening(*simplified);
  }
  for (size_t k = 0; k < imported.size(); ++k) {
    Port port = port_of(simplified->value(simplified->outputs[k]));
    port.name = imported[k].name;
    if (port.type == ir::ElementType::undefined) port = imported[k];
    if (!declared.empty()) {
      ir::Value of_file = declared[k];
      if (of_file.dims) {
        for (ir::Dim& dim : *of_file.dims) dim = dim.substitute(fixed);
      }
      port = completed_port(std::move(port), of_file, size_names);
    }
    outputs.push_back(std::move(port));
  }
  forms = std::make_unique<PlanForms>(model.graph);
  start_optimizer(std::move(load));
}

void SessionState::start_optimizer(LoadTimeWork load) {
  no_optimizer = why_no_optimizer(options);
  if (!no_optimizer.empty()) return;
  OptimizerHost host;
  host.graph = model.graph;
  host.plans = &plans;
  host.packs = packs.get();
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
  settings.standing = standing_for(options.optimizer_priority);
  settings.share = options.optimizer_share;
  settings.deterministic = options.deterministic;
  const auto ablated = [](std::string_view part) { return knob_lists(KnobName::ablate, part); };
  settings.join = !knob_says(KnobName::swap, "always") && !ablated("fusion");
  settings.always =
      knob_says(KnobName::swap, "always") || knob_says(KnobName::swap, "join") || ablated("measurement");
  settings.bilinear = options.bilinear && !settings.deterministic && !settings.always;
  settings.force_bilinear = settings.bilinear && knob_says(KnobName::swap, "bilinear");
  settings.schedules = !ablated("schedules");
  settings.force_layouts = knob_says(KnobName::swap, "layouts");
  settings.always = settings.always || settings.force_layouts;
  settings.join = settings.join && !settings.force_layouts;
  settings.layouts = !ablated("layouts") && (!settings.always || settings.force_layouts);
  settings.force_algebra = knob_says(KnobName::swap, "algebra");
  settings.always = settings.always || settings.force_algebra;
  settings.algebra =
      !ablated("algebra") && !settings.deterministic && (!settings.always || settings.force_algebra);
  std::shared_ptr<WarmStart> warm = open_warm_start();
  if (warm) settings.worker.schedules = warm->schedules();
  const char* const reproducers = knob_value(KnobName::reproducers);
  if (reproducers != nullptr) {
    settings.reproducers = reproducers;
  } else if (warm && !warm->use().folder.empty()) {
    settings.reproducers = warm->use().folder + "/reproducers";
  }
  optimizer = std::make_unique<Optimizer>(std::move(host), std::move(settings), std::move(load), warm);
  if (!warm || warm->shapes().empty()) return;
  if (options.plans_aside) {
    planning = std::make_unique<Aside>([this, warm] { prepare_known(*warm); });
  } else {
    prepare_known(*warm);
  }
}

PlanTable::Pinned SessionState::prepare(const std::vector<ir::Shape>& shapes) {
  std::vector<RuntimeValue> values;
  for (size_t k = 0; k < shapes.size(); ++k)
    values.push_back(
        without_data(k < inputs.size() ? inputs[k].type : ir::ElementType::undefined, shapes[k]));
  check(values);
  return plan_for(values);
}

void SessionState::prepare_known(const WarmStart& warm) {
  const bool plain =
      !warm.shapes().empty() && std::all_of(inputs.begin(), inputs.end(), [](const Port& port) {
        return port.kind == ir::ValueKind::tensor && port.type != ir::ElementType::undefined &&
               port.type != ir::ElementType::string;
      });
  if (!plain) return;
  try {
    // Where arenas take more, the runs that want them see to them.
    constexpr size_t most_bytes = size_t{256} << 20;
    const PlanTable::Pinned pinned = prepare(warm.shapes());
    pinned.plan->prepare_nested(warm.nested());
    pinned.plan->prepare_frames(most_bytes);
  } catch (const std::exception&) {
    // The run that wants such a plan says why there is none.
  }
}

std::shared_ptr<WarmStart> SessionState::open_warm_start() {
  no_cache = why_no_cache(options);
  if (!no_cache.empty()) return nullptr;
  if (const ir::Node* node = without_revision(*model.graph)) {
    no_cache = fmt::format("the operator '{}' has no revision", node->op);
  } else if (auto store = open_store(options.cache_dir, no_cache)) {
    // Whoever names layers has made them to be read.
    if (!store->writable() && store->settings().layers.empty())
      cache_trouble = fmt::format("{} can only be read: {}", store->settings().directory.string(),
                                  fmt::join(store->troubles(), "; "));
    return std::make_shared<WarmStart>(
        std::move(store), model.graph,
        fmt::format("{} threads{}", options.threads, options.deterministic ? ", deterministic" : ""), *pool,
        options.packs_anew);
  }
  cache_trouble = no_cache;
  return nullptr;
}

std::unique_ptr<RunBuffers> SessionState::take_buffers() {
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
  static const auto& none = lasting(ir::Tensor());
  for (RuntimeValue& value : used->inputs) value.tensor = none;
  for (RuntimeValue& value : used->outputs) value.tensor = none;
  const std::lock_guard lock(buffers_mutex);
  buffers.push_back(std::move(used));
}

PlanOptions SessionState::plan_options() const {
  PlanOptions how;
  how.threads = options.threads;
  how.packs = packs;
  how.definitions = definitions;
  how.body_forms = body_forms;
  if (optimizer) how.kernels = optimizer->library();
  how.fuse = !knob_lists(KnobName::ablate, "fusion");
  how.body_plans = options.plan_cache;
  how.memory_limit = options.memory_limit > 0 ? static_cast<size_t>(options.memory_limit) : usable_memory();
  return how;
}

std::shared_ptr<const Plan> SessionState::build(const std::vector<RuntimeValue>& values,
                                                const PlanOptions& how) const {
  return forms->plan(values, how);
}

std::shared_ptr<const Plan> SessionState::build_laid_out(const std::vector<RuntimeValue>& values) const {
  if (!optimizer) return nullptr;
  const std::vector<ir::Shape> shapes = shapes_of(values);
  std::shared_ptr<const ir::Graph> graph = optimizer->layouts().graph_for(shapes);
  if (graph == nullptr) return nullptr;
  try {
    const std::vector<ValueFact> facts = facts_of(values);
    PlanOptions how = plan_options();
    how.assumptions = forms->assumptions(facts, how);
    return build_plan(graph, graph->inputs, facts, how);
  } catch (const Error&) {
    // What comes from a cache may fit no values of these shapes.
    optimizer->layouts().drop(shapes);
    return nullptr;
  }
}

PlanTable::Pinned SessionState::plan_for(const std::vector<RuntimeValue>& values) {
  return plans.find(values, [&] {
    std::shared_ptr<const Plan> plan = build_laid_out(values);
    try {
      if (!plan) plan = build(values, plan_options());
    } catch (const Error& error) {
      blame_sizes(error, values);
      throw;
    }
    {
      const std::lock_guard lock(other_sizes_mutex);
      other_sizes = true;
    }
    definitions->close();
    return plan;
  });
}

bool SessionState::takes_other_sizes() {
  const std::lock_guard lock(other_sizes_mutex);
  if (other_sizes) return *other_sizes;
  other_sizes = false;
  try {
    const Sizes sizes = choose_free_sizes(inputs, options.dims, 0);
    std::vector<RuntimeValue> values;
    for (const Port& port : inputs) {
      if (port.kind != ir::ValueKind::tensor || port.type == ir::ElementType::undefined) return false;
      const auto fixed = options.shapes.find(port.name);
      values.push_back(
          without_data(port.type, fixed != options.shapes.end() ? fixed->second : shape_under(port, sizes)));
    }
    build(values, plan_options());
    other_sizes = true;
  } catch (const Error&) {
    // Whatever the sizes, then.
  }
  return *other_sizes;
}

void SessionState::blame_sizes(const Error& error, const std::vector<RuntimeValue>& values) {
  if (error.fault() != Fault::model) return;
  std::map<std::string, int64_t> sizes;
  ErrorPlace place = error_place(error);
  for (size_t k = 0; k < inputs.size(); ++k) {
    if (inputs[k].kind != ir::ValueKind::tensor || !inputs[k].dims) continue;
    for (size_t d = 0; d < inputs[k].dims->size(); ++d) {
      const ir::Dim& dim = (*inputs[k].dims)[d];
      if (dim.is_constant()) continue;
      sizes.emplace(dim.to_string(), values[k].tensor.shape()[d]);
      if (place.input.empty()) place.input = inputs[k].name;
    }
  }
  if (sizes.empty() || !takes_other_sizes()) return;
  std::string text;
  for (const auto& [name, size] : sizes)
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, size);
  throw PlacedError(Fault::user, fmt::format("the model takes no inputs with {}: {}", text, error.what()),
                    place);
}

namespace {

/// False where a dimension is no number.
bool constant_into(const std::vector<ir::Dim>& dims, ir::Shape& shape) {
  shape.clear();
  for (const ir::Dim& dim : dims) {
    if (!dim.is_constant()) return false;
    shape.push_back(dim.value());
  }
  return true;
}

void make_outputs(const Plan& plan, const SessionState::Making& make, std::vector<RuntimeValue>& results) {
  const ir::Graph& graph = plan.graph();
  for (size_t k = 0; k < results.size(); ++k) {
    if (results[k].tensor.defined() || graph.value(graph.outputs[k]).kind != ir::ValueKind::tensor) continue;
    const ValueFact& fact = plan.fact(graph.outputs[k]);
    if (fact.type == ir::ElementType::undefined || fact.type == ir::ElementType::string || !fact.dims)
      continue;
    if (!constant_into(*fact.dims, make.shape)) continue;
    results[k].tensor = make.of(k, fact.type, make.shape);
    results[k].type = fact.type;
  }
}

}  // namespace

void SessionState::run_plan(const std::vector<RuntimeValue>& values, std::vector<RuntimeValue>& results,
                            const RunControl* control, const Making* make) {
  using Clock = std::chrono::steady_clock;
  if (planning) planning->wait();
  const PlanTable::Pinned pinned = plan_for(values);
  if (make != nullptr) make_outputs(*pinned.plan, *make, results);
  const uint64_t number = pinned.plan->has_nested() ? ++runs_begun : 0;
  const RunContext context{*pool, options.profile ? &profiler : nullptr, control, number};
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

}  // namespace axrun::runtime
