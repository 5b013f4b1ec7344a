#include "runtime/plan/plan_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ir/error_place.h"
#include "ir/grammar.h"
#include "ir/view.h"
#include "runtime/knobs.h"
#include "runtime/operators/contraction_parts.h"
#include "runtime/operators/dequantized_convolution.h"
#include "runtime/plan/frame.h"
#include "runtime/plan/kernel_source.h"
#include "runtime/plan/nested_plans.h"
#include "runtime/plan/sequence_kernel.h"

namespace axrun::runtime {

using ir::ValueFact;
using ir::ValueId;

PlanBuilder::PlanBuilder(std::shared_ptr<const ir::Graph> graph, std::vector<int> nodes,
                         std::vector<ValueId> live_in, std::vector<ValueFact> facts,
                         std::vector<bool> outputs, bool is_continuation, const PlanOptions& options)
    : graph_(std::move(graph)),
      nodes_(std::move(nodes)),
      live_in_(std::move(live_in)),
      outputs_(std::move(outputs)),
      is_continuation_(is_continuation),
      options_(options),
      given_facts_(std::move(facts)) {}

const PlanBuilder::Stage PlanBuilder::stages[] = {
    {"infer nodes", &PlanBuilder::infer_nodes},
    {"find needed nodes", &PlanBuilder::find_needed},
    {"form groups", &PlanBuilder::form_groups},
    {"make steps", &PlanBuilder::make_steps},
    {"place limits", &PlanBuilder::place_limits},
    {"place values", &PlanBuilder::place_values},
    {"attach continuation", &PlanBuilder::attach_continuation},
};

std::shared_ptr<const Plan> PlanBuilder::build() {
  const char* knob = knob_value(KnobName::validate);
  const bool validating = knob != nullptr && std::string_view(knob) == "on";
  plan_ = std::shared_ptr<Plan>(new Plan);
  plan_->recipe_ =
      std::make_shared<PlanRecipe>(PlanRecipe{nodes_, outputs_, is_continuation_, options_, form_, numbers_});
  took_variant_ = form_ && take_variant();
  if (took_variant_) return plan_;
  for (const Stage& stage : stages) {
    (this->*stage.run)();
    if (validating) validate(stage);
  }
  keep_variant();
  return plan_;
}

void PlanBuilder::validate(const Stage& stage) const {
  const auto refuse = [&](int n, const std::string& why) {
    const ir::Node& node = graph_->nodes[static_cast<size_t>(n)];
    throw Error(Fault::internal, fmt::format("after '{}': {} '{}': {}", stage.name, node.op, node.name, why));
  };
  for (int n : scheduled_) {
    const auto& program = programs_[static_cast<size_t>(n)];
    if (!program) continue;
    const std::vector<ir::Violation> found = ir::violations(*program);
    if (!found.empty()) refuse(n, ir::to_string(found.front()));
  }
  if (groups_.empty()) return;
  std::vector<int> grouped(graph_->nodes.size());
  for (const Group& group : groups_) {
    for (int n : group.nodes) ++grouped[static_cast<size_t>(n)];
  }
  for (int n : scheduled_) {
    if (grouped[static_cast<size_t>(n)] != 1) {
      refuse(n, fmt::format("it is in {} groups", grouped[static_cast<size_t>(n)]));
    }
  }
}

std::vector<ValueId> PlanBuilder::reads_of_node(int n) const {
  const ir::Node& node = graph_->nodes[static_cast<size_t>(n)];
  const ir::Program* program = structure_of(n);
  if (program == nullptr) return ir::reads_of(node);
  std::vector<ValueId> reads;
  for (size_t k = 0; k < program->operands.size() && k < node.inputs.size(); ++k) {
    if (program->operands[k] != ir::none) reads.push_back(node.inputs[k]);
  }
  return reads;
}

void PlanBuilder::find_needed() {
  if (form_) return;
  std::vector<bool> needed(graph_->values.size(), false);
  uses_.assign(graph_->values.size(), 0);
  const auto need = [&](ValueId id) {
    needed[static_cast<size_t>(id)] = true;
    ++uses_[static_cast<size_t>(id)];
  };
  for (size_t k = 0; k < graph_->outputs.size(); ++k) {
    if (outputs_[k] && !pending_[static_cast<size_t>(graph_->outputs[k])]) need(graph_->outputs[k]);
  }
  if (graph_->limits) {
    for (const auto& [id, most] : graph_->limits->most) need(id);
  }
  for (int n : deferred_) {
    for (ValueId id : ir::reads_of(graph_->nodes[static_cast<size_t>(n)])) {
      if (pending_[static_cast<size_t>(id)] || is_constant(id)) continue;
      if (std::find(tail_live_in_.begin(), tail_live_in_.end(), id) == tail_live_in_.end()) {
        tail_live_in_.push_back(id);
        need(id);
      }
    }
  }
  std::vector<int> kept;
  for (auto n = scheduled_.rbegin(); n != scheduled_.rend(); ++n) {
    const ir::Node& node = graph_->nodes[static_cast<size_t>(*n)];
    const bool wanted = std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) {
      return id != ir::absent && needed[static_cast<size_t>(id)] && !is_constant(id);
    });
    if (!wanted) continue;
    kept.push_back(*n);
    for (ValueId id : reads_of_node(*n)) need(id);
  }
  std::reverse(kept.begin(), kept.end());
  scheduled_ = std::move(kept);
}

void PlanBuilder::form_groups() {
  if (!options_.fuse) {
    for (int n : scheduled_) groups_.push_back({{n}});
    return;
  }
  if (arrangement_) return;
  auto sets = options_.kernels ? options_.kernels->joined_groups(*graph_) : std::vector<std::vector<int>>();
  if (form_) {
    arrangement_ = sets.empty() ? form_->plain : form_->arrangements.find(sets);
    if (arrangement_) return;
    groups_ = form_->plain->groups;
    join_groups(sets);
    arrangement_ = arrange(std::exchange(groups_, {}), std::move(sets));
    form_->arrangements.keep(arrangement_);
    return;
  }
  find_groups();
  join_groups(sets);
}

void PlanBuilder::find_groups() {
  const FusionInput input{*graph_, scheduled_, programs_, facts(), uses_};
  groups_ = fuse(input);
  join_byte_groups(input, groups_);
  join_buffer_reads(input, groups_);
}

ValueId PlanBuilder::root(ValueId id) {
  while (alias_[static_cast<size_t>(id)] != id) {
    alias_[static_cast<size_t>(id)] = alias_[static_cast<size_t>(alias_[static_cast<size_t>(id)])];
    id = alias_[static_cast<size_t>(id)];
  }
  return id;
}

void PlanBuilder::join(ValueId from, ValueId into) { alias_[static_cast<size_t>(root(from))] = root(into); }

bool PlanBuilder::make_view(int n) {
  const ir::Node& node = graph_->nodes[static_cast<size_t>(n)];
  const int operand = viewed_input(n);
  if (operand < 0 || node.outputs.empty() || node.outputs[0] == ir::absent) return false;
  const ValueId input = node.inputs[static_cast<size_t>(operand)];
  if (slot_[static_cast<size_t>(input)] || slot_[static_cast<size_t>(node.outputs[0])]) return false;
  for (size_t k = 1; k < node.outputs.size(); ++k) {
    if (node.outputs[k] != ir::absent && uses_[static_cast<size_t>(node.outputs[k])] > 0) return false;
  }
  join(node.outputs[0], input);
  if (form_ && form_->views[static_cast<size_t>(n)] == PlanForm::by_size) views_by_size_.push_back(n);
  return true;
}

void PlanBuilder::make_steps() {
  alias_.resize(graph_->values.size());
  for (size_t id = 0; id < alias_.size(); ++id) alias_[id] = static_cast<ValueId>(id);
  plan_->steps_.reserve(scheduled_.size());
  for (const Group& group : arrangement_ ? arrangement_->groups : groups_) {
    make_steps_of(group);
    made_.push_back(made_so_far());
  }
}

void PlanBuilder::make_steps_of(const Group& group) {
  const int open = plan_->open_steps_;
  const size_t asks = asks_.size();
  if (group.nodes.size() > 1 && make_group_step(group)) return;
  if (!group.parts.empty()) {
    for (const Group& part : group.parts) make_steps_of(part);
    return;
  }
  // No kernel takes the whole group: one by one. Nothing will be looked for that is no step.
  const auto forget_open = [&] {
    plan_->open_steps_ = open;
    for (size_t k = asks; k < asks_.size(); ++k) asks_[k].counts = false;
  };
  forget_open();
  if (group.nodes.size() > 1 && gives_bytes(group)) {
    // As a step they may yet get one.
    Group sequence = group;
    sequence.is_sequence = true;
    for (const int n : group.nodes) sequence.parts.push_back({{n}});
    if (make_group_step(sequence)) return;
    forget_open();
  }
  for (const int n : group.nodes) make_node_step(n);
}

void PlanBuilder::make_node_step(int n) {
  if (make_view(n) || place_parts(n)) return;
  const ir::Node& node = graph_->nodes[static_cast<size_t>(n)];
  const auto& program = program_of(n);
  const bool in_slots = !program || touches_strings(n) ||
                        std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) {
                          return id != ir::absent && slot_[static_cast<size_t>(id)];
                        });
  if (!in_slots) {
    AXRUN_ASSERT(make_group_step({{n}}));
    return;
  }
  make_evaluated_step(n);
}

void PlanBuilder::make_evaluated_step(int n) {
  const ir::Node& node = graph_->nodes[static_cast<size_t>(n)];
  const auto& program = program_of(n);
  Step step;
  step.work = std::make_shared<const StepWork>(StepWork{&node, node.inputs, node.outputs, node.op, {}});
  if (program) {
    step.program = program;
  } else {
    step.bodies = std::make_shared<BodyPlans>(node, facts(), options_);
    plan_->has_nested_ = true;
  }
  plan_->steps_.push_back(std::move(step));
  step_groups_.push_back({{n}});
  step_asks_.push_back(-1);
}

bool PlanBuilder::touches_strings(int n) const {
  const ir::Node& node = graph_->nodes[static_cast<size_t>(n)];
  const auto is_string = [&](ValueId id) {
    return id != ir::absent && fact(id).type == ir::ElementType::string;
  };
  return std::any_of(node.inputs.begin(), node.inputs.end(), is_string) ||
         std::any_of(node.outputs.begin(), node.outputs.end(), is_string);
}

bool PlanBuilder::gives_bytes(const Group& group) const {
  const ir::Node& last = graph_->nodes[static_cast<size_t>(group.nodes.back())];
  const ir::ElementType type = fact(last.outputs[0]).type;
  return ir::is_integer(type) && ir::size_of(type) == 1;
}

void PlanBuilder::find_ports(const std::vector<int>& nodes, std::vector<ValueId>& inputs,
                             std::vector<ValueId>& outputs) const {
  const auto has = [](const std::vector<ValueId>& list, ValueId id) {
    return std::find(list.begin(), list.end(), id) != list.end();
  };
  std::vector<ValueId> inside;
  for (const int n : nodes) {
    const ir::Node& member = graph_->nodes[static_cast<size_t>(n)];
    for (const ValueId id : member.inputs) {
      const bool first_node = n == nodes.front();
      if (first_node || (id != ir::absent && !has(inside, id) && !has(inputs, id))) inputs.push_back(id);
    }
    inside.insert(inside.end(), member.outputs.begin(), member.outputs.end());
  }
  const ir::Node& last = graph_->nodes[static_cast<size_t>(nodes.back())];
  for (const ValueId id : last.outputs) {
    const bool unread = id == ir::absent || uses_[static_cast<size_t>(id)] == 0;
    outputs.push_back(unread && id != last.outputs[0] ? ir::absent : id);
  }
  for (const ValueId id : inside) {
    if (id != ir::absent && !has(last.outputs, id) && read_outside(id, nodes)) outputs.push_back(id);
  }
}

StepOutline PlanBuilder::outline_of(const std::vector<int>& nodes) const {
  StepOutline outline;
  std::string ops;
  for (const int n : nodes) {
    const ir::Node& node = graph_->nodes[static_cast<size_t>(n)];
    outline.group.push_back(&node);
    ops += (ops.empty() ? "" : "+") + node.op;
  }
  find_ports(nodes, outline.inputs, outline.outputs);
  std::vector<ValueId> reads = outline.inputs;
  // What the expression does not read may never have been computed.
  if (nodes.size() == 1) {
    const ir::Program* program = structure_of(nodes.front());
    for (size_t k = 0; program != nullptr && k < reads.size(); ++k) {
      const bool read = k < program->operands.size() && program->operands[k] != ir::none;
      if (!read) reads[k] = ir::absent;
    }
  }
  outline.work = std::make_shared<const StepWork>(
      StepWork{outline.group.front(), std::move(reads), outline.outputs, std::move(ops), nodes});
  return outline;
}

const StepOutline& PlanBuilder::outline_of(const Group& group, StepOutline& own) const {
  if (form_ && group.nodes.size() == 1) {
    const auto& known = form_->node_outlines[static_cast<size_t>(group.nodes.front())];
    if (known) return *known;
  }
  if (arrangement_ && group.number >= 0) return arrangement_->outlines[static_cast<size_t>(group.number)];
  return own = outline_of(group.nodes);
}

StepContext PlanBuilder::context_of(const StepOutline& outline) const {
  StepContext context{*outline.group.front(),
                      outline.group,
                      {},
                      outline.inputs,
                      {},
                      outline.outputs,
                      {},
                      options_.threads,
                      *options_.packs,
                      options_.assumptions};
  const auto port_of = [&](ValueId id) {
    StepPort port;
    if (id == ir::absent) return port;
    const ValueFact& fact = this->fact(id);
    port.present = true;
    port.type = fact.type;
    port.shape.reserve(fact.dims->size());
    for (const ir::Dim& dim : *fact.dims) port.shape.push_back(dim.value());
    if (fact.constant.defined()) port.constant = &fact.constant;
    return port;
  };
  context.programs.reserve(outline.work->nodes.size());
  for (const int n : outline.work->nodes) {
    context.programs.push_back(program_of(n).get());
    if (form_) context.open_programs.push_back(structure_of(n));
  }
  context.inputs.reserve(outline.inputs.size());
  for (const ValueId id : outline.inputs) context.inputs.push_back(port_of(id));
  context.outputs.reserve(outline.outputs.size());
  for (const ValueId id : outline.outputs) context.outputs.push_back(port_of(id));
  return context;
}

std::shared_ptr<const Kernel> PlanBuilder::sequence_of(const Group& group, const StepContext& whole) const {
  if (group.stays_whole) {
    if (auto kernel = make_dequantized_convolution(whole)) return kernel;
    return make_product_in_buffer(whole);
  }
  std::vector<SequenceKernel::Part> parts;
  for (const Group& one : group.parts) {
    StepOutline own;
    const StepContext context = context_of(outline_of(one, own));
    SequenceKernel::Part part;
    part.kernel = make_kernel(context);
    if (part.kernel == nullptr) return nullptr;
    part.inputs = context.input_ids;
    for (const StepPort& port : context.inputs)
      part.constants.push_back(port.constant != nullptr ? port.constant->data() : nullptr);
    part.outputs = context.output_ids;
    for (const StepPort& port : context.outputs) {
      part.output_bytes.push_back(port.present ? static_cast<size_t>(port.count()) * ir::size_of(port.type)
                                               : 0);
    }
    parts.push_back(std::move(part));
  }
  return std::make_shared<SequenceKernel>(std::move(parts), whole.input_ids, whole.output_ids);
}

bool PlanBuilder::make_group_step(const Group& group) {
  StepOutline own;
  const StepOutline& outline = outline_of(group, own);
  const StepContext context = context_of(outline);
  Step step;
  bool sequence = group.is_sequence;
  if (options_.kernels) {
    KernelSource::Found found = options_.kernels->find(*graph_, group.nodes, context);
    step.kernel = std::move(found.kernel);
    sequence = sequence && (found.open || group.stays_whole);
    if (form_) asks_.push_back({group, step.kernel != nullptr, found.open});
    // What may yet be found for joined groups shows in their parts, but for what was found already.
    if (found.open && (group.parts.empty() || sequence || found.beyond)) ++plan_->open_steps_;
  }
  if (step.kernel == nullptr && sequence) step.kernel = sequence_of(group, context);
  if (step.kernel == nullptr && group.parts.empty()) step.kernel = make_kernel(context);
  if (step.kernel == nullptr) return false;
  step.work = outline.work;
  scratch_bytes_ = std::max(scratch_bytes_, step.kernel->scratch_bytes());
  plan_->steps_.push_back(std::move(step));
  step_groups_.push_back(group);
  step_asks_.push_back(options_.kernels ? static_cast<int>(asks_.size()) - 1 : -1);
  return true;
}

void PlanBuilder::attach_continuation() {
  if (deferred_.empty()) return;
  std::vector<bool> outputs(graph_->outputs.size(), false);
  for (size_t k = 0; k < outputs.size(); ++k) {
    outputs[k] = outputs_[k] && pending_[static_cast<size_t>(graph_->outputs[k])];
  }
  plan_->continuation_ =
      std::make_unique<Continuation>(deferred_, tail_live_in_, values_needed_, outputs, options_);
  plan_->has_nested_ = true;
}

const PlanForm* Plan::form() const { return recipe_->form.get(); }
const std::string& Plan::assumptions() const { return recipe_->options.assumptions; }

PlanBuilder builder_like(const Plan& plan, const PlanOptions* options) {
  const PlanRecipe& recipe = *plan.recipe_;
  if (recipe.form) return {recipe.form, recipe.numbers, options != nullptr ? *options : recipe.options};
  std::vector<ValueFact> facts = plan.facts().list();
  // What nodes of the plan compute is found anew.
  for (const int n : recipe.nodes) {
    for (const ValueId id : plan.graph_->nodes[static_cast<size_t>(n)].outputs) {
      const bool known = id == ir::absent || plan.graph_->value(id).constant.defined();
      if (!known) facts[static_cast<size_t>(id)] = ValueFact();
    }
  }
  return {plan.graph_,
          recipe.nodes,
          plan.live_in_ids(),
          std::move(facts),
          recipe.outputs,
          recipe.is_continuation,
          options != nullptr ? *options : recipe.options};
}

std::shared_ptr<const Plan> rebuilt(const Plan& plan, std::shared_ptr<KernelSource> kernels) {
  PlanOptions options = builder_like(plan).options();
  options.kernels = std::move(kernels);
  return builder_like(plan, &options).build();
}

std::shared_ptr<const Plan> build_like(const Plan& plan, std::shared_ptr<const ir::Graph> graph,
                                       std::shared_ptr<KernelSource> kernels) {
  PlanOptions options = builder_like(plan).options();
  options.kernels = std::move(kernels);
  std::vector<ValueFact> facts;
  for (const ValueId id : plan.live_in_ids()) facts.push_back(plan.fact(id));
  std::shared_ptr<const Plan> made = build_plan(std::move(graph), plan.live_in_ids(), facts, options);
  made->prepare_nested(plan);
  return made;
}

PlanBuilder whole_graph_builder(std::shared_ptr<const ir::Graph> graph, std::vector<ValueId> live_in,
                                std::vector<ValueFact> facts, const PlanOptions& options) {
  std::vector<int> nodes(graph->nodes.size());
  for (size_t n = 0; n < nodes.size(); ++n) nodes[n] = static_cast<int>(n);
  std::vector<bool> outputs(graph->outputs.size(), true);
  return {std::move(graph), std::move(nodes), std::move(live_in), std::move(facts), std::move(outputs), false,
          options};
}

std::shared_ptr<const Plan> build_plan(std::shared_ptr<const ir::Graph> graph,
                                       const std::vector<ValueId>& live_in,
                                       const std::vector<ValueFact>& live_in_facts,
                                       const PlanOptions& options) {
  std::vector<ValueFact> facts = ir::facts_of_constants(*graph);
  for (size_t k = 0; k < live_in.size(); ++k) facts[static_cast<size_t>(live_in[k])] = live_in_facts[k];
  return whole_graph_builder(std::move(graph), live_in, std::move(facts), options).build();
}

}  // namespace axrun::runtime
