// The size-independent part of a plan, found from the sizes that came first.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
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
  FormMaker(std::shared_ptr<const ir::Graph> graph, const std::vector<ValueFact>& given,
            const PlanOptions& options)
      : graph_(std::move(graph)), given_(given), options_(options), form_(std::make_shared<PlanForm>()) {
    form_->graph = graph_;
    form_->live_in = graph_->inputs;
  }

  std::shared_ptr<const PlanForm> make(std::string& reason) {
    std::vector<ValueFact> facts = open_facts();
    if (form_->open.empty()) {
      if (form_->fixed.empty()) reason = FormCounts::nothing_open;
      return nullptr;
    }
    ir::SizesAtHand sizes(at_hand_);
    PlanBuilder builder = whole_graph_builder(graph_, std::move(facts), options_);
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
    form_->groups = at_hand.groups();
    number_groups();
    at_hand.outline(*form_);
    return form_;
  }

 private:
  /// Those of all constants and inputs, with names.
  std::vector<ValueFact> open_facts() {
    std::vector<ValueFact> facts = ir::facts_of_constants(*graph_);
    for (size_t k = 0; k < graph_->inputs.size(); ++k) {
      const ValueId id = graph_->inputs[k];
      ValueFact& fact = facts[static_cast<size_t>(id)] = given_[k];
      if (!fact.dims || fact.constant.defined()) continue;
      for (size_t d = 0; d < fact.dims->size(); ++d) open(k, d, (*fact.dims)[d]);
    }
    return facts;
  }

  void open(size_t k, size_t d, Dim& dim) {
    const std::string name = name_of_axis(graph_->value(graph_->inputs[k]), d);
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

  void number_groups() {
    std::map<std::vector<size_t>, size_t> boards;
    for (Group& group : form_->groups) {
      group.number = static_cast<int>(form_->shelf_places.size());
      form_->shelf_places.emplace_back();
      const auto sizes = sizes_of(group);
      if (!sizes) continue;
      const size_t board = boards.emplace(*sizes, boards.size()).first->second;
      if (board == form_->boards.size()) form_->boards.push_back({*sizes, 0});
      form_->shelf_places.back() = {board, form_->boards[board].groups++};
    }
    form_->shelf.resize(form_->boards.size());
  }

  std::optional<std::vector<size_t>> sizes_of(const Group& group) const {
    std::set<size_t> places;
    for (const int n : group.nodes) {
      const ir::Node& node = graph_->nodes[static_cast<size_t>(n)];
      const auto& program = form_->programs[static_cast<size_t>(n)];
      // What it becomes depends on where other values are.
      if (!program || node.op == "Concat") return std::nullopt;
      const std::vector<size_t> own = program->values();
      places.insert(own.begin(), own.end());
      for (size_t k = 0; k < node.inputs.size() + node.outputs.size(); ++k) {
        const bool is_input = k < node.inputs.size();
        const ValueId id = is_input ? node.inputs[k] : node.outputs[k - node.inputs.size()];
        const int32_t place = id == ir::absent ? -1 : (*form_->places)[static_cast<size_t>(id)];
        if (place < 0) continue;
        const PlanForm::OpenFact& fact = form_->open_facts[static_cast<size_t>(place)];
        // Steps know where constants are, and these are the plan's own.
        const auto& operands = program->program().operands;
        if (!fact.elements.empty() && is_input && k < operands.size() && operands[k] != ir::none)
          return std::nullopt;
        places.insert(fact.dims.begin(), fact.dims.end());
        places.insert(fact.elements.begin(), fact.elements.end());
      }
    }
    return std::vector<size_t>(places.begin(), places.end());
  }

  std::shared_ptr<const ir::Graph> graph_;
  const std::vector<ValueFact>& given_;
  const PlanOptions& options_;
  std::shared_ptr<PlanForm> form_;
  std::map<std::string, int64_t> at_hand_;
};

}  // namespace

std::shared_ptr<const PlanForm> make_form(std::shared_ptr<const ir::Graph> graph,
                                          const std::vector<ValueFact>& live_in_facts,
                                          const PlanOptions& options, std::string& reason) {
  try {
    return FormMaker(std::move(graph), live_in_facts, options).make(reason);
  } catch (const Error& error) {
    // Where the sizes are at fault, the plan for these very sizes says so; other sizes would not help
    // otherwise.
    if (error.fault() == Fault::internal || error.fault() == Fault::unsupported) reason = error.what();
    return nullptr;
  }
}

}  // namespace axrun::runtime
