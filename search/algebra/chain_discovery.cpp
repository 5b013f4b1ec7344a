// Pairs of operations that come about where rules are applied.
//
// Of Slice(Reshape(Transpose(x))) a model has two pairs, but not the one that matters where the Slice has
// gone past the Reshape: Slice(Transpose(x)). Three operations that only move elements are few enough to
// apply every rule to them that is known so far, and to look at all pairs that this gives.

#include <algorithm>

#include "search/algebra/discovery.h"
#include "search/algebra/saturation.h"

namespace axrun::search::algebra {
namespace {

using Rules = std::vector<std::shared_ptr<const Rule>>;

/// Each application puts the outermost operation past one more.
constexpr int most_chain_rounds = 2;
constexpr int most_chain_terms = 200;
constexpr size_t most_chain_matches = 20;

bool moves(const Terms& terms, TermId id) {
  return terms[id].operation >= 0 && is_index_map(terms.operation(terms[id].operation));
}

bool only_moves(const Rule& rule) {
  for (const auto* side : {&rule.left, &rule.right})
    for (const TermId id : reached_from(rule.terms, *side))
      if (rule.terms[id].operation >= 0 && !moves(rule.terms, id)) return false;
  return true;
}

/// Every pair of an operation and one that it reads, with all that is equal to what it reads.
std::vector<Site> pairs_in(EGraph& graph) {
  std::vector<Site> pairs;
  const TermId count = graph.terms().size();
  for (TermId id = 0; id < count; ++id) {
    if (!moves(graph.terms(), id)) continue;
    const Term term = graph.terms()[id];
    for (size_t k = 0; k < term.children.size(); ++k) {
      for (const TermId producer : std::vector<TermId>(graph.members(term.children[k]))) {
        if (!moves(graph.terms(), producer)) continue;
        std::vector<TermId> children = term.children;
        children[k] = producer;
        const TermId consumer = graph.make(term.operation, term.parameters, children);
        // Normal forms may have made one operation of both.
        if (consumer == no_term || !moves(graph.terms(), consumer)) continue;
        const std::vector<TermId>& reads = graph.terms()[consumer].children;
        if (std::find(reads.begin(), reads.end(), producer) == reads.end()) continue;
        pairs.push_back(site_of(graph.terms(), {producer, consumer}, 1, false));
      }
    }
  }
  return pairs;
}

}  // namespace

void Discovery::examine_chains(const Terms& model, const Place& place, const std::function<bool()>& go_on,
                               DiscoveryCounts& counts) {
  const auto rules = [&] {
    Rules list;
    for (const auto& [id, rule] : rules_.rules())
      if ((rule->usable(true) || rule->usable(false)) && rule->left.size() == 1 && only_moves(*rule))
        list.push_back(rule);
    return list;
  };
  for (TermId id = 0; id < model.size(); ++id) {
    if (!is_sought(model, id) || !moves(model, id)) continue;
    for (const TermId middle : model[id].children) {
      if (!is_sought(model, middle) || !moves(model, middle)) continue;
      for (const TermId first : model[middle].children) {
        if (!is_sought(model, first) || !moves(model, first)) continue;
        if (!go_on()) return;
        const Site chain = site_of(model, {first, middle, id}, 1, false);
        if (!seen_.insert("chain " + chain.text()).second) continue;
        if (!seen_.insert("chain " + generalise(chain).text()).second) continue;
        EGraph graph({most_chain_terms});
        if (chain.build(graph.terms()).empty()) continue;
        SaturationOptions options;
        options.most_rounds = most_chain_rounds;
        options.most_terms = most_chain_terms;
        options.most_matches = most_chain_matches;
        saturate(graph, rules(), options);
        for (const Site& pair : pairs_in(graph)) {
          if (!go_on()) return;
          examine(pair, place(id), counts);
        }
      }
    }
  }
}

}  // namespace axrun::search::algebra
