// The size-independent part of a plan, found from the sizes that came first.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "runtime/plan/plan_builder.h"

namespace axrun::runtime {

using ir::Dim;
using ir::ValueFact;
using ir::ValueId;

namespace {

/// The name of an axis; empty: it has a number.
std::string name_of_axis(const ir::Value& value, size_t axis) {
  const std::string own = fmt::format("{}[{}]", value.name, axis);
  if (!value.dims) return own;
  const Dim& dim = (*value.dims)[axis];
  if (dim.is_constant()) return "";
  std::vector<std::string> names;
  dim.collect_symbols(names);
  // An expression of names says less than a run does.
  return names.size() == 1 && dim == Dim::symbol(names.front()) ? names.front() : own;
}

std::vector<std::string> names_of(const std::vector<PlanForm::OpenAxis>& open) {
  std::vector<std::string> names;
  for (const PlanForm::OpenAxis& axis : open) names.push_back(axis.name);
  return names;
}

/// Makes one form; make() is called once.
class FormMaker {
 public:
  FormMaker(std::shared_ptr<const ir::Graph> graph, const std::vector<ValueId>& live_in,
            DeclaredSizes declared, const std::vector<ValueFact>& given, const PlanOptions& options)
      : graph_(std::move(graph)),
        declared_(declared),
        given_(given),
        options_(options),
        form_(std::make_shared<PlanForm>()) {
    form_->graph = graph_;
    form_->live_in = live_in;
  }

  std::shared_ptr<const PlanForm> make(bool closed_too, std::string& reason) {
    std::vector<ValueFact> facts = open_facts();
    if (form_->fixed.empty() && form_->open.empty()) reason = FormCounts::nothing_open;
    if (form_->open.empty() && (form_->fixed.empty() || !closed_too)) return nullptr;
    ir::SizesAtHand sizes(at_hand_);
    PlanBuilder builder = whole_graph_builder(graph_, form_->live_in, std::move(facts), options_);
    if (!builder.infer_open(sizes, reason)) return nullptr;
    form_->sizes = ir::SizeProgram(names_of(form_->open));
    for (const ir::SizeGuard& guard : sizes.guards())
      form_->guards.push_back({form_->sizes.add(guard.difference), guard.relation, guard.to_string()});
    form_->assumptions = fmt::format("{}", fmt::join(form_->describe().guards, "\n"));
    builder.describe(*form_);
    const auto numbers = form_->numbers(given_);
    if (!numbers) {
      reason = "it is not for the sizes that it was made from";
      return nullptr;
    }
    PlanBuilder at_hand(form_, *numbers, options_);
    at_hand.arrange(*form_);
    return form_;
  }

 private:
  /// Those of all constants and inputs, with names.
  std::vector<ValueFact> open_facts() {
    std::vector<ValueFact> facts = ir::facts_of_constants(*graph_);
    for (size_t k = 0; k < form_->live_in.size(); ++k) {
      const ValueId id = form_->live_in[k];
      ValueFact& fact = facts[static_cast<size_t>(id)] = given_[k];
      if (fact.constant.defined()) form_->values.push_back({k, fact.constant});
      if (!fact.dims || fact.constant.defined()) continue;
      for (size_t d = 0; d < fact.dims->size(); ++d) open(k, d, (*fact.dims)[d]);
    }
    return facts;
  }

  void open(size_t k, size_t d, Dim& dim) {
    const ir::Value& value = graph_->value(form_->live_in[k]);
    const std::string name = declared_ == DeclaredSizes::kept ? name_of_axis(value, d)
                                                              : fmt::format("{}:{}[{}]", k, value.name, d);
    if (name.empty()) return;
    const int64_t extent = dim.value();
    if (extent <= PlanForm::most_fixed) {
      form_->fixed.push_back({k, d, extent});
      return;
    }
    const auto [place, is_new] = at_hand_.emplace(name, extent);
    if (is_new) form_->open.push_back({k, d, name});
    dim = Dim::symbol(name);
  }

  std::shared_ptr<const ir::Graph> graph_;
  DeclaredSizes declared_;
  const std::vector<ValueFact>& given_;
  const PlanOptions& options_;
  std::shared_ptr<PlanForm> form_;
  std::map<std::string, int64_t> at_hand_;
};

}  // namespace

std::shared_ptr<const PlanForm> make_form(std::shared_ptr<const ir::Graph> graph,
                                          const std::vector<ValueId>& live_in, DeclaredSizes declared,
                                          const std::vector<ValueFact>& live_in_facts,
                                          const PlanOptions& options, bool closed_too, std::string& reason) {
  try {
    return FormMaker(std::move(graph), live_in, declared, live_in_facts, options).make(closed_too, reason);
  } catch (const Error& error) {
    // Where the sizes are at fault, the plan for these very sizes says so; other sizes would not help
    // otherwise.
    if (error.fault() == Fault::internal || error.fault() == Fault::unsupported) reason = error.what();
    return nullptr;
  }
}

}  // namespace axrun::runtime
