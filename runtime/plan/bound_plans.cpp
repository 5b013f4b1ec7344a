// Plans that are bound from forms: what PlanBuilder takes from there, and what it leaves.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "ir/view.h"
#include "runtime/plan/kernel_source.h"
#include "runtime/plan/plan_builder.h"

namespace axrun::runtime {

using ir::Dim;
using ir::ValueFact;
using ir::ValueId;

PlanBuilder::PlanBuilder(std::shared_ptr<const PlanForm> form, std::vector<int64_t> numbers,
                         const PlanOptions& options)
    : graph_(form->graph),
      live_in_(form->live_in),
      outputs_(form->graph->outputs.size(), true),
      is_continuation_(false),
      options_(options),
      form_(std::move(form)),
      numbers_(std::move(numbers)) {
  options_.assumptions = form_->assumptions;
}

bool PlanBuilder::infer_open(ir::SizesAtHand& sizes, std::string& reason) {
  sizes_ = &sizes;
  infer_nodes();
  const auto knows_results = [&](int n) {
    const std::vector<ValueId>& results = graph_->nodes[static_cast<size_t>(n)].outputs;
    return !programs_[static_cast<size_t>(n)] || std::all_of(results.begin(), results.end(), [&](ValueId id) {
      return id == ir::absent || dims_known(fact(id));
    });
  };
  const auto open = std::find_if_not(scheduled_.begin(), scheduled_.end(), knows_results);
  if (!deferred_.empty() || open != scheduled_.end()) {
    const ir::Node& node = graph_->nodes[static_cast<size_t>(deferred_.empty() ? *open : deferred_.front())];
    reason = fmt::format("what {} '{}' computes depends on more than sizes", node.op, node.name);
    return false;
  }
  find_needed();
  return true;
}

namespace {

PlanForm::Bytes taken_by(const ValueFact& fact, ir::SizeProgram& sizes) {
  if (!fact.dims || fact.type == ir::ElementType::string || fact.type == ir::ElementType::undefined)
    return {};
  const Dim bytes = ir::product(*fact.dims) * Dim(static_cast<int64_t>(ir::size_of(fact.type)));
  if (bytes.is_constant()) return {-1, bytes.value()};
  return {static_cast<int32_t>(sizes.add(bytes)), 0};
}

}  // namespace

void PlanBuilder::describe(PlanForm& form) const {
  const auto places_of = [&](const ir::Dims& dims) {
    std::vector<size_t> places;
    for (const Dim& dim : dims) places.push_back(form.sizes.add(dim));
    return places;
  };
  const auto is_open = [](const Dim& dim) { return !dim.is_constant(); };
  std::vector<ValueFact> facts = facts_.list();
  std::vector<int32_t> places(facts.size(), -1);
  for (const ValueFact& fact : facts) form.bytes.push_back(taken_by(fact, form.sizes));
  for (size_t id = 0; id < facts.size(); ++id) {
    ValueFact& fact = facts[id];
    const bool has_open_dims = fact.dims && std::any_of(fact.dims->begin(), fact.dims->end(), is_open);
    if (!has_open_dims && !fact.elements) continue;
    PlanForm::OpenFact open{static_cast<ValueId>(id), {}, {}};
    if (has_open_dims) open.dims = places_of(*fact.dims);
    if (fact.elements) open.elements = places_of(*fact.elements);
    fact.elements.reset();
    places[id] = static_cast<int32_t>(form.open_facts.size());
    form.open_facts.push_back(std::move(open));
  }
  form.facts = std::make_shared<const std::vector<ValueFact>>(std::move(facts));
  form.places = std::make_shared<const std::vector<int32_t>>(std::move(places));
  for (const auto& program : programs_) {
    form.programs.emplace_back();
    if (program) form.programs.back().emplace(program, form.sizes);
    const bool is_open = program && form.programs.back()->is_open();
    const int viewed = program ? ir::viewed_operand(*program) : -1;
    form.views.push_back(viewed < 0 && is_open && ir::only_moves(*program) ? PlanForm::by_size : viewed);
  }
  std::set<size_t> dims;
  for (const PlanForm::OpenFact& fact : form.open_facts) dims.insert(fact.dims.begin(), fact.dims.end());
  form.dims.assign(dims.begin(), dims.end());
  form.scheduled = scheduled_;
  form.slot = slot_;
  form.uses = uses_;
}

const FactTable& PlanBuilder::facts() const {
  if (form_ && facts_.size() == 0) {
    std::optional<FactTable> facts = form_->facts_at(numbers_);
    if (!facts) throw Error(Fault::model, "a size is negative");
    facts_ = std::move(*facts);
  }
  return facts_;
}

void PlanBuilder::take_form() {
  facts();
  programs_.resize(form_->programs.size());
  pending_.assign(graph_->values.size(), false);
  scheduled_ = form_->scheduled;
  slot_ = form_->slot;
  uses_ = form_->uses;
}

const std::shared_ptr<const ir::Program>& PlanBuilder::program_of(int node) const {
  auto& program = programs_[static_cast<size_t>(node)];
  if (form_ && !program && form_->programs[static_cast<size_t>(node)])
    program = form_->programs[static_cast<size_t>(node)]->at(numbers_);
  return program;
}

int PlanBuilder::viewed_input(int node) const {
  const int known = form_ ? form_->views[static_cast<size_t>(node)] : PlanForm::by_size;
  if (known != PlanForm::by_size) return known;
  const auto& program = program_of(node);
  return program ? ir::viewed_operand(*program) : -1;
}

const ir::Program* PlanBuilder::structure_of(int node) const {
  if (!form_) return programs_[static_cast<size_t>(node)].get();
  const auto& program = form_->programs[static_cast<size_t>(node)];
  return program ? &program->program() : nullptr;
}

void PlanBuilder::arrange(PlanForm& form) {
  take_form();
  for (size_t n = 0; n < programs_.size(); ++n) program_of(static_cast<int>(n));
  form.node_outlines.resize(graph_->nodes.size());
  for (const int n : scheduled_) {
    if (programs_[static_cast<size_t>(n)]) form.node_outlines[static_cast<size_t>(n)] = outline_of({n});
  }
  find_groups();
  form.plain = arrange(std::move(groups_), {});
}

}  // namespace axrun::runtime
