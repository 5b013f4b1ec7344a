// The first stage of PlanBuilder: what the nodes compute, as far as that is known before the run.

#include <fmt/format.h>

#include <algorithm>

#include "ir/error_place.h"
#include "runtime/plan/nested_plans.h"
#include "runtime/plan/plan_builder.h"

namespace axrun::runtime {

using ir::ValueFact;
using ir::ValueId;

namespace {

/// What an If gives, where its condition is known by now: sizes tell it. Empty where it is not, or where the
/// branch says so only when it is planned.
std::vector<ValueFact> results_of_branch(const ir::Node& node, const ir::Inference& inference,
                                         const ir::Inference::Options& options) {
  if (node.op != "If" || !node.domain.empty() || node.inputs.empty() || node.inputs[0] == ir::absent)
    return {};
  const ir::Tensor& condition = inference.fact(node.inputs[0]).constant;
  if (!condition.defined() || condition.size() != 1) return {};
  const auto branch = node.attributes.find(condition.get_int(0) != 0 ? "then_branch" : "else_branch");
  if (branch == node.attributes.end() || branch->second.graph == nullptr) return {};
  const ir::Graph& body = *branch->second.graph;
  std::vector<ValueFact> facts = ir::facts_of_constants(body);
  for (const auto& [outer, inner] : body.captures) {
    if (!facts[static_cast<size_t>(inner)].constant.defined())
      facts[static_cast<size_t>(inner)] = inference.fact(outer);
  }
  ir::Inference within(body, options, std::move(facts));
  try {
    for (const ir::Node& one : body.nodes) {
      const std::vector<ValueFact> results = results_of_branch(one, within, options);
      for (size_t k = 0; k < one.outputs.size() && k < results.size(); ++k)
        if (one.outputs[k] != ir::absent) within.fact(one.outputs[k]) = results[k];
      if (const auto program = within.define(one)) within.conclude(one, *program);
    }
  } catch (const Error&) {
    return {};  // the branch says better what is wrong with it
  }
  std::vector<ValueFact> results;
  for (const ValueId id : body.outputs) {
    results.emplace_back().type = within.fact(id).type;
    results.back().dims = within.fact(id).dims;
  }
  return results;
}

}  // namespace

bool PlanBuilder::dims_known(const ValueFact& fact) const {
  const auto is_known = [&](const ir::Dim& dim) {
    return dim.is_constant() || (sizes_ != nullptr && sizes_->value(dim).has_value());
  };
  return fact.type != ir::ElementType::undefined && fact.dims &&
         std::all_of(fact.dims->begin(), fact.dims->end(), is_known);
}

void PlanBuilder::defer(int node) {
  deferred_.push_back(node);
  for (ValueId id : graph_->nodes[static_cast<size_t>(node)].outputs) {
    if (id != ir::absent) pending_[static_cast<size_t>(id)] = true;
  }
}

void PlanBuilder::infer_nodes() {
  if (form_) return take_form();
  const size_t values = graph_->values.size();
  const ir::Inference::Options options = {.definitions = options_.definitions.get(), .sizes = sizes_};
  ir::Inference inference(*graph_, options, std::move(given_facts_));
  const auto known = [&](ValueId id) {
    return !pending_[static_cast<size_t>(id)] && dims_known(inference.fact(id));
  };
  programs_.resize(graph_->nodes.size());
  pending_.assign(values, false);
  slot_.assign(values, false);

  for (int n : nodes_) {
    const ir::Node& node = graph_->nodes[static_cast<size_t>(n)];
    const std::vector<ValueId> reads = ir::reads_of(node);
    if (std::any_of(reads.begin(), reads.end(),
                    [&](ValueId id) { return pending_[static_cast<size_t>(id)]; })) {
      defer(n);
      continue;
    }
    const bool forwards = node.op == "Identity" && node.domain.empty() && !reads.empty() &&
                          !known(node.inputs[0]) && is_continuation_ && n == nodes_.front();
    if (ir::is_graph_operator(node.domain, node.op) || forwards) {
      scheduled_.push_back(n);
      std::vector<ValueFact> results = results_of_branch(node, inference, options);
      results.resize(node.outputs.size());
      for (size_t k = 0; k < results.size(); ++k) {
        const ValueId id = node.outputs[k];
        if (id == ir::absent) continue;
        const bool has_buffer = dims_known(results[k]) && results[k].type != ir::ElementType::string;
        slot_[static_cast<size_t>(id)] = !has_buffer;
        inference.fact(id) = has_buffer ? std::move(results[k]) : ValueFact();
      }
      continue;
    }
    if (!std::all_of(reads.begin(), reads.end(), [&](ValueId id) { return known(id); })) {
      if (is_continuation_ && n == nodes_.front()) {
        throw PlacedError(Fault::user, fmt::format("{} '{}': an input is not a tensor", node.op, node.name),
                          ErrorPlace::of_node(node.name, node.op));
      }
      defer(n);
      continue;
    }
    auto& program = programs_[static_cast<size_t>(n)];
    program = inference.define(node);
    if (!program) {
      if (sizes_ != nullptr) {
        defer(n);
        continue;
      }
      const std::vector<ValueId> asked_for = values_asked_for(node, inference);
      if (is_continuation_ && n == nodes_.front() && asked_for.empty()) {
        throw PlacedError(
            Fault::unsupported,
            fmt::format("{} '{}': its result cannot be determined even at run time", node.op, node.name),
            ErrorPlace::of_node(node.name, node.op));
      }
      if (values_needed_.empty()) values_needed_ = asked_for;
      defer(n);
      continue;
    }
    inference.conclude(node, *program);
    if (sizes_ != nullptr) drop_untold_elements(node, inference);
    scheduled_.push_back(n);
    for (ValueId id : node.outputs) {
      if (id == ir::absent) continue;
      const ValueFact& fact = inference.fact(id);
      if (fact.constant.defined() || fact.elements) continue;
      if (!dims_known(fact) || fact.type == ir::ElementType::string) slot_[static_cast<size_t>(id)] = true;
    }
  }
  facts_ = FactTable(inference.take_facts());
}

void PlanBuilder::drop_untold_elements(const ir::Node& node, ir::Inference& inference) const {
  for (const ValueId id : node.outputs) {
    if (id == ir::absent || !inference.fact(id).elements) continue;
    const ir::Dims& elements = *inference.fact(id).elements;
    const bool told = std::all_of(elements.begin(), elements.end(),
                                  [&](const ir::Dim& one) { return sizes_->value(one).has_value(); });
    if (!told) inference.fact(id).elements.reset();
  }
}

std::vector<ValueId> PlanBuilder::values_asked_for(const ir::Node& node,
                                                   const ir::Inference& inference) const {
  ir::Consulted consulted;
  try {
    ir::define_node(node, inference.operands_of(node), &consulted);
  } catch (const ir::NotYetKnown&) {
  }
  std::vector<ValueId> asked_for, others;
  for (size_t k = 0; k < node.inputs.size(); ++k) {
    const ValueId id = node.inputs[k];
    if (id == ir::absent || inference.is_constant(id)) continue;
    const ValueFact& fact = inference.fact(id);
    if (!Continuation::may_need_content(fact.type, *ir::constant_dims(*fact.dims))) continue;
    if (consulted.asked(k)) {
      asked_for.push_back(id);
    } else if (ir::is_integer(fact.type) && fact.dims->size() <= 1) {
      others.push_back(id);
    }
  }
  // It asks for one after the other: what looks like sizes or indices is given at once.
  if (!asked_for.empty()) asked_for.insert(asked_for.end(), others.begin(), others.end());
  return asked_for;
}

}  // namespace axrun::runtime
