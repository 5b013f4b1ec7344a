#include "runtime/plan/nested_plans.h"

#include <algorithm>

#include "ir/error.h"
#include "runtime/control/graph_operators.h"
#include "runtime/plan/frame.h"
#include "runtime/plan/plan_builder.h"

namespace axrun::runtime {

using ir::ValueFact;
using ir::ValueId;

ValueFact fact_of(const RuntimeValue& value) {
  ValueFact fact;
  if (value.kind != ir::ValueKind::tensor || !value.tensor.defined()) return fact;
  fact.type = value.tensor.type();
  fact.dims = ir::to_dims(value.tensor.shape());
  return fact;
}

namespace {

/// Makes what is known elsewhere, the plan used last made last.
template <typename Build>
void prepare_like(PlanCache& plans, const std::vector<PlanCache::Known>& known, Build build) {
  for (auto one = known.rbegin(); one != known.rend(); ++one) {
    try {
      plans.get(one->key, [&] { return build(*one->plan); })->prepare_nested(*one->plan);
    } catch (const Error&) {
      // A run that needs it will say why it cannot be built.
    }
  }
}

}  // namespace

// Bodies
// ----------------------------------------------------------------------------------------------------------

BodyPlans::BodyPlans(const ir::Node& node, const std::vector<ValueFact>& facts, const PlanOptions& options)
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
                                         const std::function<RuntimeValue(ValueId)>& lookup,
                                         const RunContext& context) {
  std::vector<Going> all;
  return run_graph_operator(
      node_, inputs,
      [&](const ir::Graph& graph, const std::vector<RuntimeValue>& arguments,
          std::vector<RuntimeValue>& results) {
        auto going = std::find_if(all.begin(), all.end(),
                                  [&](const Going& one) { return one.body->graph.get() == &graph; });
        if (going == all.end()) {
          const auto body = std::find_if(bodies_.begin(), bodies_.end(),
                                         [&](const Body& b) { return b.graph.get() == &graph; });
          AXRUN_ASSERT(body != bodies_.end());
          going = all.emplace(all.end());
          going->body = &*body;
          going->live_in.resize(graph.inputs.size());
          for (const auto& capture : graph.captures) going->live_in.push_back(lookup(capture.first));
        }
        run_body(*going, arguments, results, context);
      });
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
    going.plan = body.plans->get(key, [&] {
      std::vector<ValueFact> facts;
      for (const RuntimeValue& value : going.live_in) facts.push_back(fact_of(value));
      return build(body, std::move(facts));
    });
  }
  going.plan->run(going.live_in, outputs, context);
}

std::shared_ptr<const Plan> BodyPlans::build(const Body& body, std::vector<ValueFact> facts) const {
  const size_t inputs = body.graph->inputs.size();
  for (size_t k = 0; k < body.captured_constants.size(); ++k) {
    if (body.captured_constants[k].constant.defined()) facts[inputs + k] = body.captured_constants[k];
  }
  return build_plan(body.graph, body.live_in, facts, options_);
}

void BodyPlans::list(std::vector<NestedPlan>& plans) const {
  for (size_t b = 0; b < bodies_.size(); ++b) {
    for (PlanCache::Known& known : bodies_[b].plans->known()) {
      plans.push_back({&node_, b, std::move(known.key), std::move(known.plan)});
    }
  }
}

int BodyPlans::open_steps() const {
  int open = 0;
  for (const Body& body : bodies_) open += body.plans->open_steps();
  return open;
}

void BodyPlans::prepare(const BodyPlans& like) const {
  for (size_t b = 0; b < bodies_.size(); ++b) {
    prepare_like(*bodies_[b].plans, like.bodies_[b].plans->known(), [&](const Plan& plan) {
      std::vector<ValueFact> facts;
      for (const ValueId id : bodies_[b].live_in) facts.push_back(plan.fact(id));
      return build(bodies_[b], std::move(facts));
    });
  }
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

void Continuation::run(const Plan& plan, const Frame& frame, std::vector<RuntimeValue>& outputs,
                       const RunContext& context) {
  // Longer inputs never decide a shape; keying on their content would make a plan per run.
  constexpr size_t content_limit = 4096;
  std::vector<RuntimeValue> live_in;
  std::string key;
  std::vector<bool> with_content(live_in_.size(), false);
  for (size_t k = 0; k < live_in_.size(); ++k) {
    live_in.push_back(frame.value(plan, live_in_[k]));
    append_signature(key, live_in[k]);
    with_content[k] = needs_content_[k] && live_in[k].kind == ir::ValueKind::tensor &&
                      live_in[k].tensor.defined() && live_in[k].tensor.bytes() <= content_limit;
    if (with_content[k]) append_content(key, live_in[k].tensor);
  }
  const auto next = plans_.get(key, [&] {
    std::vector<ValueFact> facts;
    for (size_t k = 0; k < live_in.size(); ++k) {
      facts.push_back(fact_of(live_in[k]));
      if (with_content[k]) facts.back().constant = live_in[k].tensor.clone();
    }
    return build(plan, facts);
  });
  next->run(live_in, outputs, context);
}

std::shared_ptr<const Plan> Continuation::build(const Plan& plan,
                                                const std::vector<ValueFact>& live_in) const {
  std::vector<ValueFact> facts(plan.graph().values.size());
  for (size_t id = 0; id < facts.size(); ++id) {
    // Constants stay known; everything else the continuation uses is live-in.
    const ValueFact& fact = plan.fact(static_cast<ValueId>(id));
    if (fact.constant.defined()) facts[id] = fact;
  }
  for (size_t k = 0; k < live_in.size(); ++k) facts[static_cast<size_t>(live_in_[k])] = live_in[k];
  return PlanBuilder(plan.shared_graph(), nodes_, live_in_, std::move(facts), outputs_, true, options_)
      .build();
}

void Continuation::list(std::vector<NestedPlan>& plans) const {
  for (PlanCache::Known& known : plans_.known()) {
    plans.push_back({nullptr, 0, std::move(known.key), std::move(known.plan)});
  }
}

int Continuation::open_steps() const { return plans_.open_steps(); }

void Continuation::prepare(const Plan& plan, const Continuation& like) {
  if (live_in_ != like.live_in_) return;
  prepare_like(plans_, like.plans_.known(), [&](const Plan& known) {
    std::vector<ValueFact> facts;
    for (const ValueId id : live_in_) facts.push_back(known.fact(id));
    return build(plan, facts);
  });
}

}  // namespace axrun::runtime
