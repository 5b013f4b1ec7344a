#include "search/layouts/layout_problem.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace axrun::search::layouts {
namespace {

/// How a value may be: made in a layout, and there in these.
struct Form {
  int made = 0;
  uint32_t there = 1;
  double cost = 0;  ///< of converting it
};

std::vector<Form> forms_of(const LayoutValue& value, int layouts) {
  std::vector<Form> forms;
  const uint32_t all = (uint32_t{1} << layouts) - 1;
  for (int made = 0; made < layouts; ++made) {
    const uint32_t own = uint32_t{1} << made;
    if ((value.made & own) == 0) continue;
    const uint32_t least = own | value.wanted;
    const auto add = [&](uint32_t there) {
      double cost = 0;
      for (int to = 0; to < layouts; ++to) {
        if (to == made || (there >> to & 1) == 0) continue;
        cost += value.conversions[static_cast<size_t>(made * layouts + to)];
      }
      if (cost < infinite) forms.push_back({made, there, cost});
    };
    add(least);
    for (int more = 0; more < layouts; ++more) {
      const uint32_t there = least | uint32_t{1} << more;
      if (there != least && (there & all) == there) add(there);
    }
  }
  return forms;
}

/// The cheapest way to have a term's inputs in layouts that are there. `reads`: the layout of every port
/// then.
double least_price(const PriceTerm& term, size_t inputs, int layouts, const std::vector<const Form*>& forms,
                   std::vector<int>* reads) {
  double least = infinite;
  std::vector<int> at(term.ports.size(), 0);
  for (const double price : term.prices) {
    bool possible = price < least;
    for (size_t p = 0; p < at.size() && possible; ++p) {
      const bool is_input = static_cast<size_t>(term.ports[p]) < inputs;
      possible = is_input ? (forms[p]->there >> at[p] & 1) != 0 : forms[p]->made == at[p];
    }
    if (possible) {
      least = price;
      if (reads != nullptr) *reads = at;
    }
    for (size_t p = at.size(); p-- > 0;) {
      if (++at[p] < layouts) break;
      at[p] = 0;
    }
  }
  return least;
}

int value_of(const LayoutNode& node, int port) {
  const auto p = static_cast<size_t>(port);
  return p < node.inputs.size() ? node.inputs[p] : node.outputs[p - node.inputs.size()];
}

/// The table of one term: by the forms of its values.
CostTable table_of(const LayoutProblem& problem, const LayoutNode& node, const PriceTerm& term,
                   const std::vector<std::vector<Form>>& forms) {
  CostTable table;
  for (const int port : term.ports) {
    const int v = value_of(node, port);
    if (std::find(table.variables.begin(), table.variables.end(), v) == table.variables.end())
      table.variables.push_back(v);
  }
  std::vector<size_t> at(table.variables.size(), 0);
  for (;;) {
    std::vector<const Form*> taken;
    for (const int port : term.ports) {
      const int v = value_of(node, port);
      const auto k = static_cast<size_t>(std::find(table.variables.begin(), table.variables.end(), v) -
                                         table.variables.begin());
      taken.push_back(&forms[static_cast<size_t>(v)][at[k]]);
    }
    table.costs.push_back(least_price(term, node.inputs.size(), problem.layouts, taken, nullptr));
    size_t k = at.size();
    while (k > 0 && ++at[k - 1] == forms[static_cast<size_t>(table.variables[k - 1])].size()) at[--k] = 0;
    if (k == 0) return table;
  }
}

}  // namespace

LayoutChoice choose_layouts(const LayoutProblem& problem, const ChoiceLimits& limits) {
  std::vector<std::vector<Form>> forms;
  WeightedChoice choice;
  std::vector<int> plain;
  for (const LayoutValue& value : problem.values) {
    forms.push_back(forms_of(value, problem.layouts));
    const std::vector<Form>& own = forms.back();
    choice.options.push_back(static_cast<int>(own.size()));
    CostTable table{{static_cast<int>(forms.size()) - 1}, {}};
    for (const Form& form : own) table.costs.push_back(form.cost);
    choice.tables.push_back(std::move(table));
    const auto first = std::find_if(own.begin(), own.end(), [&](const Form& form) {
      return form.made == 0 && form.there == (value.wanted | 1);
    });
    plain.push_back(first == own.end() ? 0 : static_cast<int>(first - own.begin()));
  }
  for (const LayoutNode& node : problem.nodes) {
    for (const PriceTerm& term : node.terms) choice.tables.push_back(table_of(problem, node, term, forms));
  }
  const ChosenOptions chosen = choose(choice, plain, limits);

  LayoutChoice result;
  std::vector<const Form*> taken;
  for (size_t v = 0; v < forms.size(); ++v) {
    taken.push_back(&forms[v][static_cast<size_t>(chosen.options[v])]);
    result.made.push_back(taken.back()->made);
    result.there.push_back(taken.back()->there);
  }
  for (const LayoutNode& node : problem.nodes) {
    std::vector<int> reads(node.inputs.size(), 0);
    for (const PriceTerm& term : node.terms) {
      std::vector<const Form*> own;
      for (const int port : term.ports) own.push_back(taken[static_cast<size_t>(value_of(node, port))]);
      std::vector<int> at(term.ports.size(), 0);
      least_price(term, node.inputs.size(), problem.layouts, own, &at);
      for (size_t p = 0; p < at.size(); ++p) {
        if (static_cast<size_t>(term.ports[p]) < reads.size())
          reads[static_cast<size_t>(term.ports[p])] = at[p];
      }
    }
    result.reads.push_back(std::move(reads));
  }
  result.cost = chosen.cost;
  result.plain_cost = cost_of(choice, plain);
  result.bound = chosen.bound;
  result.is_best = chosen.is_best();
  result.visits = chosen.visits;
  return result;
}

}  // namespace axrun::search::layouts
