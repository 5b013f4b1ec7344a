// Sums whose terms come to have a factor in common where rules are applied.
//
// A model with adapters of low rank computes x W + s ((x A) B). It has no two products of x to be added:
// these come about where the scale has gone into a factor, and the products are associated the other way. Few
// enough operations below a sum are put into a graph of their own, every rule that is known so far is applied
// to them, and the sums of two terms with an equal operand that this gives are looked at, as are operations
// that move the elements of what they did not move before. What that leads to is applied in turn.

#include <algorithm>

#include "search/algebra/discovery.h"
#include "search/algebra/saturation.h"
#include "search/algebra/sums.h"

namespace axrun::search::algebra {
namespace {

constexpr int most_turns = 3;
constexpr int most_sum_rounds = 3, most_sum_terms = 400;
constexpr size_t most_sum_matches = 20;

class Pairs {
 public:
  explicit Pairs(EGraph& graph) : graph_(graph) {}

  std::vector<Site> run() {
    const TermId count = graph_.terms().size();
    for (TermId id = 0; id < count; ++id) {
      if (is_sum(graph_.terms(), id)) common_operands(id);
      if (graph_.terms()[id].operation >= 0 && graph_.terms()[id].children.size() == 1 &&
          is_index_map(graph_.terms().operation(graph_.terms()[id].operation)))
        moved(id);
    }
    return std::move(found_);
  }

 private:
  void common_operands(TermId sum) {
    const std::vector<TermId> children = graph_.terms()[sum].children;
    for (size_t i = 0; i < children.size(); ++i)
      for (size_t j = i + 1; j < children.size(); ++j)
        for (const TermId a : std::vector<TermId>(graph_.members(children[i])))
          for (const TermId b : std::vector<TermId>(graph_.members(children[j]))) with_one(sum, a, b);
  }

  /// Both on the same terms where they read equal ones.
  void with_one(TermId sum, TermId a, TermId b) {
    if (a == b || !is_product(graph_.terms(), a) || !is_product(graph_.terms(), b)) return;
    const Term first = graph_.terms()[a], second = graph_.terms()[b];
    std::vector<TermId> children = second.children;
    size_t equal = 0;
    for (TermId& child : children) {
      const auto same = std::find_if(first.children.begin(), first.children.end(), [&](TermId id) {
        return graph_.equal(child, id) && !graph_.constant(id);
      });
      if (same == first.children.end()) continue;
      child = *same;
      ++equal;
    }
    if (equal == 0 || equal == children.size()) return;
    const TermId other = graph_.make(second.operation, second.parameters, children);
    if (other == no_term || !is_product(graph_.terms(), other)) return;
    const TermId both = graph_.make(graph_.terms()[sum].operation, {}, {a, other});
    if (both == no_term || !is_sum(graph_.terms(), both) || graph_.terms()[both].children.size() != 2) return;
    found_.push_back(site_of(graph_.terms(), {a, other, both}, 1, false));
  }

  void moved(TermId id) {
    const Term term = graph_.terms()[id];
    for (const TermId producer : std::vector<TermId>(graph_.members(term.children[0]))) {
      if (!is_product(graph_.terms(), producer)) continue;
      const TermId consumer = graph_.make(term.operation, term.parameters, {producer});
      if (consumer == no_term || graph_.terms()[consumer].children != std::vector<TermId>{producer}) continue;
      found_.push_back(site_of(graph_.terms(), {producer, consumer}, 1, false));
    }
  }

  EGraph& graph_;
  std::vector<Site> found_;
};

}  // namespace

void Discovery::examine_sums(const Terms& model, const Place& place, const std::function<bool()>& go_on,
                             DiscoveryCounts& counts) {
  const auto rules = [&] {
    std::vector<std::shared_ptr<const Rule>> list;
    for (const auto& [id, rule] : rules_.rules())
      if ((rule->usable(true) || rule->usable(false)) && rule->left.size() == 1) list.push_back(rule);
    return list;
  };
  SaturationOptions options;
  options.most_rounds = most_sum_rounds;
  options.most_terms = most_sum_terms;
  options.most_matches = most_sum_matches;
  options.stop = [&] { return !go_on(); };
  const auto look = [&](const Site& sum, const std::string& origin) {
    if (!seen_.insert("sum " + sum.text()).second) return;
    if (!seen_.insert("sum " + generalise(sum).text()).second) return;
    for (int turn = 0; turn < most_turns; ++turn) {
      EGraph graph({most_sum_terms});
      if (sum.build(graph.terms()).empty()) return;
      graph.take_in();
      saturate(graph, rules(), options);
      bool found = false;
      for (const Site& pair : Pairs(graph).run()) {
        if (!go_on()) return;
        found = examine(pair, origin, counts) || found;
      }
      if (!found) return;
    }
  };
  const auto is_wanted = [&](TermId id) { return is_sought(model, id); };
  for (TermId id = 0; id < model.size(); ++id) {
    if (!is_wanted(id) || !is_sum(model, id)) continue;
    for (const std::vector<TermId>& inner : between_sum_and_operands(model, id, is_wanted)) {
      if (!go_on()) return;
      look(site_of(model, inner, 1, true), place(id));
    }
  }
}

}  // namespace axrun::search::algebra
