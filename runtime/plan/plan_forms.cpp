#include "runtime/plan/plan_forms.h"

#include <algorithm>
#include <utility>

#include "runtime/plan/plan_builder.h"

namespace axrun::runtime {

std::vector<ir::ValueFact> facts_of(const std::vector<RuntimeValue>& values) {
  std::vector<ir::ValueFact> facts;
  for (const RuntimeValue& value : values) {
    ir::ValueFact fact;
    if (value.kind == ir::ValueKind::tensor && value.tensor.defined()) {
      fact.type = value.tensor.type();
      fact.dims = ir::to_dims(value.tensor.shape());
    }
    facts.push_back(std::move(fact));
  }
  return facts;
}

template <class Inputs>
PlanForms::Bound PlanForms::known(const Inputs& inputs) {
  for (auto form = forms_.begin(); form != forms_.end(); ++form) {
    auto numbers = (*form)->numbers(inputs);
    if (!numbers) continue;
    std::rotate(forms_.begin(), form, std::next(form));
    return {forms_.front(), std::move(*numbers)};
  }
  return {};
}

PlanForms::Bound PlanForms::find(const std::vector<ir::ValueFact>& live_in_facts,
                                 const PlanOptions& options) {
  bool closed_too = false;
  {
    const std::lock_guard lock(mutex_);
    if (!counts_.reason.empty()) return {};
    if (Bound bound = known(live_in_facts); bound.form != nullptr) return bound;
    // Where nothing but this size has come so far, the first answer is there earlier without a form.
    closed_too = !forms_.empty();
  }
  std::string reason;
  std::shared_ptr<const PlanForm> made =
      make_form(graph_, live_in_, declared_, live_in_facts, options, closed_too, reason);
  auto numbers = made ? made->numbers(live_in_facts) : std::nullopt;
  const std::lock_guard lock(mutex_);
  // Two threads may have made one for like sizes; the first is kept.
  if (Bound bound = known(live_in_facts); bound.form != nullptr) return bound;
  if (!numbers) {
    counts_.reason = reason;
    return {};
  }
  // Making one takes longer than a plan for the very sizes does.
  if (++counts_.made > 2 * most_forms && counts_.bound < 2 * counts_.made)
    counts_.reason = "most sizes have come with a form of their own";
  forms_.insert(forms_.begin(), made);
  if (forms_.size() > most_forms) forms_.pop_back();
  return {made, std::move(*numbers)};
}

std::shared_ptr<const Plan> PlanForms::plan(const std::vector<RuntimeValue>& inputs,
                                            const PlanOptions& options) {
  Bound bound;
  {
    const std::lock_guard lock(mutex_);
    if (counts_.reason.empty()) bound = known(inputs);
  }
  if (bound.form == nullptr) return plan(facts_of(inputs), options);
  std::shared_ptr<const Plan> plan = bind(std::move(bound), options);
  return plan ? plan : build_plan(graph_, live_in_, facts_of(inputs), options);
}

std::shared_ptr<const Plan> PlanForms::plan(const std::vector<ir::ValueFact>& live_in_facts,
                                            const PlanOptions& options) {
  std::shared_ptr<const Plan> plan = bind(find(live_in_facts, options), options);
  return plan ? plan : build_plan(graph_, live_in_, live_in_facts, options);
}

std::shared_ptr<const Plan> PlanForms::bind(Bound bound, const PlanOptions& options) {
  if (bound.form != nullptr) {
    try {
      PlanBuilder builder(bound.form, std::move(bound.numbers), options);
      std::shared_ptr<const Plan> plan = builder.build();
      const std::lock_guard lock(mutex_);
      ++counts_.bound;
      counts_.variants += builder.took_variant() ? 0 : 1;
      return plan;
    } catch (const Error&) {
      // The plan for these very sizes says better what is wrong with them.
    }
  }
  const std::lock_guard lock(mutex_);
  ++counts_.unbound;
  return nullptr;
}

std::string PlanForms::assumptions(const std::vector<ir::ValueFact>& live_in_facts,
                                   const PlanOptions& options) {
  const Bound bound = find(live_in_facts, options);
  return bound.form ? bound.form->assumptions : "";
}

std::shared_ptr<const Plan> BodyForms::plan(const std::shared_ptr<const ir::Graph>& body,
                                            const std::vector<ir::ValueId>& live_in,
                                            const std::vector<ir::ValueFact>& live_in_facts,
                                            const PlanOptions& options) {
  std::shared_ptr<PlanForms> forms;
  {
    const std::lock_guard lock(mutex_);
    // Many models run at one size, for which a form takes longer than its plan.
    const auto [found, is_new] = bodies_.try_emplace(body);
    if (!is_new && found->second == nullptr) found->second = std::make_shared<PlanForms>(body, live_in);
    forms = found->second;
    // Graphs that plans are no longer made of are not told apart.
    if (is_new && bodies_.size() > most_bodies) bodies_.clear();
  }
  return forms ? forms->plan(live_in_facts, options) : build_plan(body, live_in, live_in_facts, options);
}

FormCounts PlanForms::counts() const {
  const std::lock_guard lock(mutex_);
  FormCounts counts = counts_;
  for (const auto& form : forms_) counts.forms.push_back(form->describe());
  return counts;
}

}  // namespace axrun::runtime
