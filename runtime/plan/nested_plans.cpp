#include "runtime/plan/nested_plans.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "ir/error.h"
#include "ir/lasting.h"
#include "runtime/control/graph_operators.h"
#include "runtime/plan/frame.h"
#include "runtime/plan/plan_builder.h"
#include "runtime/plan/plan_forms.h"
#include "runtime/plan/signature.h"

namespace axrun::runtime {

using ir::ValueFact;
using ir::ValueId;

namespace {

/// Of each value of a key; nothing where it is not a key of so many.
std::optional<std::vector<ValueFact>> facts_for(const std::string& key, size_t values) {
  std::optional<std::vector<Signature>> signatures = signatures_in(key);
  if (!signatures || signatures->size() != values) return std::nullopt;
  std::vector<ValueFact> facts;
  for (Signature& one : *signatures) facts.push_back(std::move(one.fact));
  return facts;
}

}  // namespace

// Bodies
// ----------------------------------------------------------------------------------------------------------

BodyPlans::BodyPlans(const ir::Node& node, const FactTable& facts, const PlanOptions& options)
    : node_(node), options_(options) {
  for (const auto& [name, attribute] : node.attributes) {
    std::vector<std::shared_ptr<ir::Graph>> graphs = attribute.graphs;
    if (attribute.graph) graphs.push_back(attribute.graph);
    for (const auto& graph : graphs) {
      Body body;
      body.graph = graph;
      body.live_in = graph->inputs;
      for (const auto& [outer, inner] : graph->captures) {
        body.live_in.push_back(inner);
        const ValueFact& fact = facts[static_cast<size_t>(outer)];
        body.captured_constants.push_back(fact.constant.defined() ? fact : ValueFact());
      }
      body.plans = std::make_unique<PlanCache>(options.body_plans);
      bodies_.push_back(std::move(body));
    }
  }
}

std::vector<RuntimeValue> BodyPlans::run(const std::vector<RuntimeValue>& inputs,
                                         const std::function<void(ValueId, RuntimeValue&)>& read,
                                         const RunContext& context) {
  std::vector<Going> all = take_goings();
  std::vector<RuntimeValue> results = run_graph_operator(
      node_, inputs,
      [&](const ir::Graph& graph, const std::vector<RuntimeValue>& arguments,
          std::vector<RuntimeValue>& outputs) {
        const auto going = std::find_if(all.begin(), all.end(),
                                        [&](const Going& one) { return one.body->graph.get() == &graph; });
        AXRUN_ASSERT(going != all.end());
        if (going->plan == nullptr) {
          for (size_t k = 0; k < graph.captures.size(); ++k)
            read(graph.captures[k].first, going->live_in[graph.inputs.size() + k]);
        }
        run_body(*going, arguments, outputs, context);
      });
  give_back(std::move(all));
  return results;
}

std::vector<BodyPlans::Going> BodyPlans::take_goings() {
  {
    const std::lock_guard lock(idle_mutex_);
    if (!idle_.empty()) {
      std::vector<Going> goings = std::move(idle_.back());
      idle_.pop_back();
      return goings;
    }
  }
  std::vector<Going> goings(bodies_.size());
  for (size_t k = 0; k < goings.size(); ++k) {
    goings[k].body = &bodies_[k];
    goings[k].live_in.resize(bodies_[k].live_in.size());
  }
  return goings;
}

void BodyPlans::give_back(std::vector<Going> goings) {
  static const auto& none = lasting(RuntimeValue());
  for (Going& going : goings) {
    if (going.plan == nullptr) continue;
    going.plan = nullptr;
    // Assigned from a value that stays, a value keeps the memory of its shape.
    for (RuntimeValue& value : going.live_in) value = none;
  }
  const std::lock_guard lock(idle_mutex_);
  idle_.push_back(std::move(goings));
}

void BodyPlans::run_body(Going& going, const std::vector<RuntimeValue>& inputs,
                         std::vector<RuntimeValue>& outputs, const RunContext& context) {
  const Body& body = *going.body;
  if (inputs.size() != body.graph->inputs.size()) fail_at(node_, "the body's inputs do not match");
  const bool fits = going.plan != nullptr &&
                    std::equal(inputs.begin(), inputs.end(), going.live_in.begin(), has_same_signature);
  std::copy(inputs.begin(), inputs.end(), going.live_in.begin());
  if (!fits) {
    std::string key;
    for (const RuntimeValue& value : going.live_in) append_signature(key, value);
    going.plan = body.plans->get(key, context.number, [&] { return build(body, key); });
  }
  going.plan->run(going.live_in, outputs, context);
}

std::shared_ptr<const Plan> BodyPlans::build(const Body& body, const std::string& key) const {
  std::optional<std::vector<ValueFact>> facts = facts_for(key, body.live_in.size());
  if (!facts) fail_at(node_, "there is no plan for such inputs of a body");
  const size_t inputs = body.graph->inputs.size();
  for (size_t k = 0; k < body.captured_constants.size(); ++k) {
    if (body.captured_constants[k].constant.defined()) (*facts)[inputs + k] = body.captured_constants[k];
  }
  if (options_.body_forms) return options_.body_forms->plan(body.graph, body.live_in, *facts, options_);
  return build_plan(body.graph, body.live_in, *facts, options_);
}

void BodyPlans::list(std::vector<NestedPlan>& plans) const {
  // Where a run takes one branch or the other, both are rarely needed.
  uint64_t runs = 0;
  for (const Body& body : bodies_) runs = std::max(runs, body.plans->runs());
  for (size_t b = 0; b < bodies_.size(); ++b) {
    for (PlanCache::Known& known : bodies_[b].plans->known())
      plans.push_back({&node_, b, std::move(known.key), std::move(known.plan), {known.runs, runs}});
  }
}

int BodyPlans::open_steps() const {
  int open = 0;
  for (const Body& body : bodies_) open += body.plans->open_steps();
  return open;
}

void BodyPlans::prepare(const NestedForm& form) const {
  if (form.body >= bodies_.size()) return;
  const Body& body = bodies_[form.body];
  body.plans->start_from(form.key, form.uses, [&] { return build(body, form.key); })
      ->prepare_nested(form.inside);
}

// Continuations
// ---------------------------------------------------------------------------------------------------

Continuation::Continuation(std::vector<int> nodes, std::vector<ValueId> live_in,
                           std::vector<ValueId> values_needed, std::vector<bool> outputs,
                           const PlanOptions& options)
    : nodes_(std::move(nodes)),
      live_in_(std::move(live_in)),
      outputs_(std::move(outputs)),
      options_(options),
      plans_(options.body_plans) {
  for (ValueId id : live_in_) {
    needs_content_.push_back(std::find(values_needed.begin(), values_needed.end(), id) !=
                             values_needed.end());
  }
}

bool Continuation::may_need_content(ir::ElementType type, const ir::Shape& shape) {
  constexpr size_t most_bytes = 4096;
  return type != ir::ElementType::string &&
         static_cast<size_t>(ir::element_count(shape)) * ir::size_of(type) <= most_bytes;
}

void Continuation::run(const Plan& plan, const Frame& frame, std::vector<RuntimeValue>& outputs,
                       const RunContext& context) {
  std::vector<RuntimeValue> live_in;
  std::string key;
  for (size_t k = 0; k < live_in_.size(); ++k) {
    const RuntimeValue& value = live_in.emplace_back(frame.value(plan, live_in_[k]));
    const ir::Tensor& tensor = value.tensor;
    const bool with_content = needs_content_[k] && value.kind == ir::ValueKind::tensor && tensor.defined() &&
                              may_need_content(tensor.type(), tensor.shape());
    append_signature(key, value, with_content);
  }
  plans_.get(key, context.number, [&] { return build(plan, key); })->run(live_in, outputs, context);
}

std::shared_ptr<const Plan> Continuation::build(const Plan& plan, const std::string& key) const {
  const std::optional<std::vector<ValueFact>> live_in = facts_for(key, live_in_.size());
  if (!live_in) throw Error(Fault::user, "there is no plan for what follows such values");
  std::vector<ValueFact> facts(plan.graph().values.size());
  for (size_t id = 0; id < facts.size(); ++id) {
    // Constants stay known; everything else the continuation uses is live-in.
    const ValueFact& fact = plan.fact(static_cast<ValueId>(id));
    if (fact.constant.defined()) facts[id] = fact;
  }
  for (size_t k = 0; k < live_in->size(); ++k) facts[static_cast<size_t>(live_in_[k])] = (*live_in)[k];
  return PlanBuilder(plan.shared_graph(), nodes_, live_in_, std::move(facts), outputs_, true, options_)
      .build();
}

void Continuation::list(std::vector<NestedPlan>& plans) const {
  const uint64_t runs = plans_.runs();
  for (PlanCache::Known& known : plans_.known())
    plans.push_back({nullptr, 0, std::move(known.key), std::move(known.plan), {known.runs, runs}});
}

int Continuation::open_steps() const { return plans_.open_steps(); }

void Continuation::prepare(const Plan& plan, const NestedForm& form) {
  if (form.live_in != live_in_) return;
  plans_.start_from(form.key, form.uses, [&] { return build(plan, form.key); })->prepare_nested(form.inside);
}

}  // namespace axrun::runtime
