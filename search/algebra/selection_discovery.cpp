// Selections past what comes to be below them where rules are applied.
//
// A model that answers for the last token only has one pair of an operation and a selection of its result.
// Where a rule has taken the selection past that operation, its operands are selected from, which the model
// does not have: these pairs are looked at, one after the other, for as long as rules are found.

#include <deque>

#include "search/algebra/discovery.h"
#include "search/algebra/saturation.h"
#include "search/algebra/selections.h"

namespace axrun::search::algebra {
namespace {

constexpr int most_selection_rounds = 2, most_selection_terms = 200;
constexpr size_t most_selection_matches = 20;
/// Operations that a selection is taken past.
constexpr int most_selection_steps = 40;

/// What a selection and the operation before it become: selections of what that reads, as terms of the model.
std::vector<TermId> moved(Terms& model, TermId selection,
                          const std::vector<std::shared_ptr<const Rule>>& rules) {
  EGraph graph({most_selection_terms});
  std::map<TermId, TermId> copies;
  const Window pair{{model[selection].children[0], selection}, {selection}};
  if (copy_window(model, pair, graph, &copies).empty()) return {};
  std::map<TermId, TermId> originals;
  for (const auto& [original, copy] : copies) originals.emplace(copy, original);
  SaturationOptions options;
  options.most_rounds = most_selection_rounds;
  options.most_terms = most_selection_terms;
  options.most_matches = most_selection_matches;
  options.wanted = moves_selection;
  saturate(graph, rules, options);
  std::vector<TermId> found;
  for (TermId id = 0; id < graph.terms().size(); ++id) {
    const Term& term = graph.terms()[id];
    if (!is_selection(graph.terms(), id) || graph.terms()[term.children[0]].operation >= 0) continue;
    const auto read = originals.find(term.children[0]);
    if (read == originals.end() || model[read->second].operation < 0) continue;
    const TermId made =
        model.make(model.operation(graph.terms().operation(term.operation)), term.parameters, {read->second});
    if (made != no_term && is_selection(model, made)) found.push_back(made);
  }
  return found;
}

}  // namespace

void Discovery::examine_selections(const Terms& model, const Place& place, const std::function<bool()>& go_on,
                                   DiscoveryCounts& counts) {
  std::map<TermId, std::set<TermId>> users;
  for (TermId id = 0; id < model.size(); ++id)
    for (const TermId child : model[id].children) users[child].insert(id);
  const std::vector<Selected> selected = selected_values(model, users);
  if (selected.empty()) return;
  std::vector<std::shared_ptr<const Rule>> rules;
  const auto collect = [&] {
    rules.clear();
    for (const auto& [id, rule] : rules_.rules())
      if ((rule->usable(true) && moves_selection(*rule, true)) ||
          (rule->usable(false) && moves_selection(*rule, false)))
        rules.push_back(rule);
  };
  collect();
  Terms terms = model;
  std::set<TermId> met;
  for (const Selected& one : selected) {
    for (const TermId first : one.selections) {
      std::deque<TermId> open{first};
      for (int step = 0; step < most_selection_steps && !open.empty(); ++step) {
        if (!go_on()) return;
        const TermId id = open.front();
        open.pop_front();
        const TermId producer = terms[id].children[0];
        if (!met.insert(id).second || !is_sought(terms, id) || !is_sought(terms, producer)) continue;
        const size_t known = rules_.rules().size();
        examine_around({producer, id}, terms, place(one.value), counts);
        if (rules_.rules().size() != known) collect();
        for (const TermId next : moved(terms, id, rules)) open.push_back(next);
      }
    }
  }
}

}  // namespace axrun::search::algebra
