#include "runtime/optimizer/layout_sites.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <string_view>

#include "ir/error.h"
#include "runtime/operators/map_program.h"
#include "runtime/optimizer/step_expression.h"

namespace axrun::runtime {
namespace {

using ir::ValueId;

constexpr double infinite = std::numeric_limits<double>::infinity();
/// Starting a kernel that converts.
constexpr double copy_call_microseconds = 0.2;
/// Prices of other sites are for all of their values together: one for every combination.
constexpr size_t most_ports = 8;

bool has_windows(const ir::Node& node) {
  constexpr std::array<std::string_view, 9> windows = {
      "Conv",   "ConvTranspose",     "MaxPool",       "AveragePool", "LpPool",
      "Resize", "GlobalAveragePool", "GlobalMaxPool", "Upsample"};
  return node.domain.empty() && std::find(windows.begin(), windows.end(), node.op) != windows.end();
}

/// A node that has a meaning in every layout: it treats the elements of a channel, or of a place, alike.
bool has_any_layout(const ir::Inference& facts, const ir::Node& node) {
  if (has_windows(node)) return true;
  if (!node.domain.empty()) return false;
  if (node.op == "Concat") {
    const auto axis = node.attributes.find("axis");
    return axis != node.attributes.end() && axis->second.integer == 1;
  }
  const std::shared_ptr<const ir::Program> program = facts.define(node);
  if (!program || !is_elementwise(*program)) return false;
  const ir::ExprId value = program->stages[0].body[0];  // not what only moves elements
  return program->exprs[static_cast<size_t>(value)].op != ir::ScalarOp::load;
}

bool gives_any_layout(const ir::Inference& facts, const Step& step) {
  try {
    return std::all_of(step.work->nodes.begin(), step.work->nodes.end(), [&](int n) {
      return has_any_layout(facts, facts.graph().nodes[static_cast<size_t>(n)]);
    });
  } catch (const Error&) {
    return false;
  }
}

/// Only what values connect with windows over channels: elsewhere dims are called channels for their place
/// only.
void keep_those_near_windows(const Plan& plan, std::vector<LayoutSite>& sites) {
  std::map<ValueId, std::vector<size_t>> users;
  std::vector<size_t> reached;
  std::vector<bool> kept(sites.size(), false);
  for (size_t k = 0; k < sites.size(); ++k) {
    for (const auto* ids : {&sites[k].inputs, &sites[k].outputs}) {
      for (const ValueId id : *ids) users[id].push_back(k);
    }
    const std::vector<int>& nodes = plan.steps()[sites[k].step].work->nodes;
    kept[k] = std::any_of(nodes.begin(), nodes.end(),
                          [&](int n) { return has_windows(plan.graph().nodes[static_cast<size_t>(n)]); });
    if (kept[k]) reached.push_back(k);
  }
  while (!reached.empty()) {
    const LayoutSite& site = sites[reached.back()];
    reached.pop_back();
    for (const auto* ids : {&site.inputs, &site.outputs}) {
      for (const ValueId id : *ids) {
        for (const size_t user : users[id]) {
          if (kept[user]) continue;
          kept[user] = true;
          reached.push_back(user);
        }
      }
    }
  }
  std::vector<LayoutSite> near;
  for (size_t k = 0; k < sites.size(); ++k) {
    if (kept[k]) near.push_back(std::move(sites[k]));
  }
  sites = std::move(near);
}

int64_t bytes_of(const ir::ValueFact& fact) {
  return ir::element_count(*ir::constant_dims(*fact.dims)) * static_cast<int64_t>(ir::size_of(fact.type));
}

}  // namespace

LayoutSites find_layout_sites(const Plan& plan) {
  const ir::Inference facts = facts_of(plan);
  const ir::Graph& graph = plan.graph();
  const std::vector<Step>& steps = plan.steps();
  // Values that conversions can stand behind: those that come in, and results of kernels.
  std::set<ValueId> known(plan.live_in_ids().begin(), plan.live_in_ids().end());
  for (const Step& step : steps) {
    if (step.kernel) known.insert(step.work->outputs.begin(), step.work->outputs.end());
  }
  LayoutSites found;
  std::vector<bool> in_site(graph.nodes.size(), false);
  for (size_t s = 0; s < steps.size(); ++s) {
    if (!steps[s].kernel || steps[s].work->nodes.empty()) continue;
    LayoutSite site;
    site.step = s;
    const auto add = [&](const std::vector<ValueId>& ids, std::vector<ValueId>& ports) {
      for (const ValueId id : ids) {
        if (id == ir::absent || known.count(id) == 0 || !has_layouts(plan.fact(id))) continue;
        if (std::find(ports.begin(), ports.end(), id) == ports.end()) ports.push_back(id);
      }
    };
    add(steps[s].work->inputs, site.inputs);
    if (gives_any_layout(facts, steps[s])) add(steps[s].work->outputs, site.outputs);
    const ir::Node& first = graph.nodes[static_cast<size_t>(steps[s].work->nodes.front())];
    site.input_by_input = steps[s].work->nodes.size() == 1 && first.op == "Concat" &&
                          site.outputs.size() == 1 && !site.inputs.empty();
    const size_t ports = site.inputs.size() + site.outputs.size();
    if (ports == 0 || (ports > most_ports && !site.input_by_input)) continue;
    found.sites.push_back(std::move(site));
  }
  keep_those_near_windows(plan, found.sites);
  for (const LayoutSite& site : found.sites) {
    for (const int n : steps[site.step].work->nodes) in_site[static_cast<size_t>(n)] = true;
    for (const ValueId id : site.inputs) found.values[id].bytes = bytes_of(plan.fact(id));
    for (const ValueId id : site.outputs) {
      found.values[id].bytes = bytes_of(plan.fact(id));
      found.values[id].is_made = true;
    }
  }
  const auto want = [&](ValueId id) {
    const auto value = found.values.find(id);
    if (value != found.values.end()) value->second.is_wanted = true;
  };
  for (const ValueId id : graph.outputs) want(id);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const std::vector<ValueId>& results = graph.nodes[n].outputs;
    const bool computed = std::any_of(results.begin(), results.end(), [&](ValueId id) {
      return id != ir::absent && !plan.fact(id).constant.defined();
    });
    if (in_site[n] || !computed) continue;
    for (const ValueId id : ir::reads_of(graph.nodes[n])) want(id);
  }
  return found;
}

LayoutDecision all_channels_last(const Plan& plan, const LayoutSites& sites) {
  constexpr uint32_t plain = 1 << static_cast<int>(Layout::plain),
                     last = 1 << static_cast<int>(Layout::channels_last);
  LayoutDecision all;
  all.reads.resize(plan.steps().size());
  all.moved.assign(sites.sites.size(), true);
  for (const auto& [id, value] : sites.values) {
    all.values[id] =
        value.is_made ? ValueLayout{Layout::channels_last, last} : ValueLayout{Layout::plain, plain | last};
  }
  for (const auto& [id, layout] : all.values) all.values_moved += layout.made == Layout::plain ? 0 : 1;
  for (const LayoutSite& site : sites.sites) {
    for (const ValueId id : site.inputs) all.reads[site.step][id] = Layout::channels_last;
  }
  return all;
}

namespace {

/// Of one site that works in one layout: on all of its values at once, or on one input after another.
std::vector<search::layouts::PriceTerm> terms_of(const LayoutSites& sites, const LayoutSite& site) {
  using search::layouts::PriceTerm;
  const double last = site.last_microseconds.value_or(infinite);
  std::vector<PriceTerm> terms;
  const auto ports = static_cast<int>(site.inputs.size() + site.outputs.size());
  if (!site.input_by_input) {
    PriceTerm all;
    for (int p = 0; p < ports; ++p) all.ports.push_back(p);
    all.prices.assign(size_t{1} << ports, infinite);
    all.prices.front() = site.plain_microseconds;
    all.prices.back() = last;
    return {all};
  }
  int64_t bytes = 0;
  for (const ValueId id : site.inputs) bytes += sites.values.at(id).bytes;
  for (int p = 0; p + 1 < ports; ++p) {
    const double part = static_cast<double>(sites.values.at(site.inputs[static_cast<size_t>(p)]).bytes) /
                        static_cast<double>(bytes);
    terms.push_back({{p, ports - 1}, {part * site.plain_microseconds, infinite, infinite, part * last}});
  }
  return terms;
}

}  // namespace

LayoutDecision decide_layouts(const Plan& plan, const LayoutSites& sites, double microseconds_per_byte,
                              const ChooseLayouts& choose) {
  namespace problem_of = search::layouts;
  problem_of::LayoutProblem problem;
  problem.layouts = layout_count;
  std::vector<ValueId> ids;
  std::map<ValueId, int> numbers;
  for (const auto& [id, value] : sites.values) {
    numbers[id] = static_cast<int>(ids.size());
    ids.push_back(id);
    problem_of::LayoutValue one;
    one.made = value.is_made ? 3 : 1;
    one.wanted = value.is_wanted ? 1 : 0;
    one.conversions.assign(layout_count * layout_count,
                           copy_call_microseconds + microseconds_per_byte * static_cast<double>(value.bytes));
    problem.values.push_back(std::move(one));
  }
  for (const LayoutSite& site : sites.sites) {
    problem_of::LayoutNode node;
    for (const ValueId id : site.inputs) node.inputs.push_back(numbers.at(id));
    for (const ValueId id : site.outputs) node.outputs.push_back(numbers.at(id));
    node.terms = terms_of(sites, site);
    problem.nodes.push_back(std::move(node));
  }
  const problem_of::LayoutChoice choice = choose(problem);

  LayoutDecision decision;
  decision.reads.resize(plan.steps().size());
  decision.gain_microseconds = choice.plain_cost - choice.cost;
  decision.is_best = choice.is_best;
  decision.gap = choice.cost > 0 ? 1 - choice.bound / choice.cost : 0;
  for (size_t v = 0; v < ids.size(); ++v) {
    if (choice.made[v] == 0 && choice.there[v] == 1) continue;
    decision.values[ids[v]] = {static_cast<Layout>(choice.made[v]), choice.there[v]};
    decision.values_moved += choice.made[v] != 0 ? 1 : 0;
  }
  for (size_t n = 0; n < sites.sites.size(); ++n) {
    const LayoutSite& site = sites.sites[n];
    bool moved = false;
    for (size_t k = 0; k < site.inputs.size(); ++k) {
      if (choice.reads[n][k] == 0) continue;
      decision.reads[site.step][site.inputs[k]] = static_cast<Layout>(choice.reads[n][k]);
      moved = true;
    }
    for (const int output : problem.nodes[n].outputs)
      moved = moved || choice.made[static_cast<size_t>(output)] != 0;
    decision.moved.push_back(moved);
  }
  return decision;
}

}  // namespace axrun::runtime
