#include "search/algebra/saturation.h"

#include <algorithm>

#include "ir/error.h"
#include "search/algebra/matching.h"
#include "search/algebra/selections.h"
#include "search/algebra/sums.h"

namespace axrun::search::algebra {

std::string_view name_of(StopReason reason) {
  switch (reason) {
    case StopReason::saturated:
      return "saturated";
    case StopReason::rounds:
      return "rounds";
    case StopReason::terms:
      return "terms";
    case StopReason::stopped:
      return "stopped";
  }
  return "";
}

namespace {

/// Makes what the match says equal. Whether anything changed.
bool apply(EGraph& graph, const std::shared_ptr<const Rule>& rule, bool forward, const Match& match,
           Saturation& saturation) {
  bool changed = false;
  std::vector<TermId> made;
  for (size_t root = 0; root < rule->left.size(); ++root) {
    Link link;
    link.rule = rule;
    link.root = root;
    link.substitution = match.substitution;
    link.sizes = match.sizes;
    link.left = instantiate(*rule, rule->left[root], match.substitution, match.sizes, graph.terms());
    link.right = instantiate(*rule, rule->right[root], match.substitution, match.sizes, graph.terms());
    graph.take_in();
    if (link.left == no_term || link.right == no_term) continue;
    // Dims that are written differently would make one class of two.
    const Facts &left = graph.terms()[link.left].facts, &right = graph.terms()[link.right].facts;
    if (left.type != right.type || left.dims != right.dims) continue;
    made.push_back(forward ? link.right : link.left);
    changed = graph.merge(link) || changed;
    if (!match.rest.empty()) graph.hold_together(forward ? link.left : link.right, match.rest);
  }
  if (changed) {
    ++saturation.applied[rule->id];
    if (made.size() > 1) saturation.companions.push_back(made);
  }
  return changed;
}

}  // namespace

SaturationOptions moving_selections(SaturationOptions options) {
  constexpr int most_rounds = 64;
  options.most_rounds = most_rounds;
  options.wanted = moves_selection;
  return options;
}

Saturation saturate(EGraph& graph, const std::vector<std::shared_ptr<const Rule>>& rules,
                    const SaturationOptions& options) {
  Saturation saturation;
  graph.take_in();
  graph.rebuild();
  for (; saturation.rounds < options.most_rounds; ++saturation.rounds) {
    struct Found {
      std::shared_ptr<const Rule> rule;
      bool forward;
      Match match;
    };
    std::vector<Found> found;
    const auto told_to_stop = [&] { return options.stop && options.stop(); };
    for (const auto& rule : rules) {
      if (told_to_stop()) {
        saturation.stopped = StopReason::stopped;
        return saturation;
      }
      for (const bool forward : {true, false}) {
        if (!rule->usable(forward) || (!forward && !options.both_directions)) continue;
        if (options.wanted && !options.wanted(*rule, forward)) continue;
        // What is joined would be joined with its own parts again and again.
        if (rule->left.size() > 1 && (!forward || saturation.rounds >= options.most_joining_rounds)) continue;
        for (Match& match : find_matches(graph, *rule, forward, options.most_matches))
          found.push_back({rule, forward, std::move(match)});
      }
    }
    bool changed = false;
    for (const Found& one : found) {
      if (told_to_stop()) {
        graph.rebuild();
        saturation.stopped = StopReason::stopped;
        return saturation;
      }
      if (graph.full() || graph.terms().size() >= options.most_terms) {
        graph.rebuild();
        saturation.stopped = StopReason::terms;
        return saturation;
      }
      changed = apply(graph, one.rule, one.forward, one.match, saturation) || changed;
    }
    graph.rebuild();
    if (!changed) return saturation;
  }
  saturation.stopped = StopReason::rounds;
  return saturation;
}

namespace {

/// Operations that the roots reach and which others read each of them.
struct Order {
  std::vector<TermId> operations;
  std::map<TermId, std::set<TermId>> users;
  std::set<TermId> needed;

  Order(const Terms& terms, const std::vector<TermId>& roots) : needed(roots.begin(), roots.end()) {
    for (const TermId id : reached_from(terms, roots))
      if (terms[id].operation >= 0 && !terms[id].facts.constant) operations.push_back(id);
    for (const TermId id : operations)
      for (const TermId child : terms[id].children) users[child].insert(id);
  }
  /// Its roots are what is needed, or read outside.
  Window window(std::vector<TermId> inner) {
    Window window{std::move(inner), {}};
    for (const TermId id : window.inner) {
      bool outside = needed.count(id) != 0;
      for (const TermId user : users[id])
        outside = outside || std::find(window.inner.begin(), window.inner.end(), user) == window.inner.end();
      if (outside) window.roots.push_back(id);
    }
    return window;
  }
};

}  // namespace

std::vector<Window> windows_of(const Terms& terms, const std::vector<TermId>& roots, int most_operations) {
  Order order(terms, roots);
  const std::vector<TermId>& all = order.operations;
  std::vector<Window> windows;
  const auto count = static_cast<size_t>(most_operations);
  for (size_t first = 0; first < all.size(); first += std::max<size_t>(count / 2, 1)) {
    const size_t end = std::min(first + count, all.size());
    windows.push_back(order.window(
        {all.begin() + static_cast<std::ptrdiff_t>(first), all.begin() + static_cast<std::ptrdiff_t>(end)}));
    if (end == all.size()) break;
  }
  return windows;
}

std::vector<Window> sum_windows(const Terms& terms, const std::vector<TermId>& roots) {
  Order order(terms, roots);
  const std::set<TermId> all(order.operations.begin(), order.operations.end());
  std::vector<Window> windows;
  for (const TermId id : order.operations) {
    if (!is_sum(terms, id)) continue;
    for (std::vector<TermId>& inner :
         between_sum_and_operands(terms, id, [&](TermId child) { return all.count(child) != 0; }))
      windows.push_back(order.window(std::move(inner)));
  }
  return windows;
}

std::vector<Window> selection_windows(const Terms& terms, const std::vector<TermId>& roots) {
  constexpr size_t most_operations = 48;
  Order order(terms, roots);
  std::vector<Window> windows;
  for (const Selected& one : selected_values(terms, order.users)) {
    std::set<TermId> inner(one.selections.begin(), one.selections.end());
    // A Gather of one element is a Slice, which has no name in the model, and the Reshape of that.
    for (const TermId selection : one.selections)
      for (const TermId user : order.users[selection])
        if (terms.is(user, "Reshape")) inner.insert(user);
    const auto is_read_elsewhere = [&](TermId id) {
      const std::set<TermId>& users = order.users[id];
      return order.needed.count(id) != 0 ||
             !std::includes(inner.begin(), inner.end(), users.begin(), users.end());
    };
    // Users come before what they read.
    for (auto id = order.operations.rbegin(); id != order.operations.rend(); ++id)
      if (inner.size() < most_operations && inner.count(*id) == 0 && !order.users[*id].empty() &&
          !is_read_elsewhere(*id))
        inner.insert(*id);
    if (inner.count(one.value) == 0) continue;
    std::vector<TermId> list;
    for (const TermId id : order.operations)
      if (inner.count(id) != 0) list.push_back(id);
    windows.push_back(order.window(std::move(list)));
  }
  return windows;
}

std::vector<Window> sibling_windows(const Terms& terms, const std::vector<TermId>& roots) {
  constexpr size_t most_siblings = 8;
  std::map<std::pair<int, TermId>, std::vector<TermId>> siblings;
  for (const TermId id : reached_from(terms, roots)) {
    const Term& term = terms[id];
    if (term.operation < 0 || term.facts.constant || term.children.size() < 2 || !term.parameters.empty())
      continue;
    const Operation& operation = terms.operation(term.operation);
    if (!is_sum_or_product(operation) && !is_index_map(operation))
      siblings[{term.operation, term.children[0]}].push_back(id);
  }
  std::vector<Window> windows;
  for (auto& [key, list] : siblings)
    if (list.size() > 1 && list.size() <= most_siblings) windows.push_back({list, list});
  return windows;
}

std::vector<TermId> copy_window(const Terms& terms, const Window& window, EGraph& graph,
                                std::map<TermId, TermId>* all) {
  std::map<TermId, TermId> own;
  std::map<TermId, TermId>& copies = all != nullptr ? *all : own;
  const auto copy = [&](const auto& self, TermId id) -> TermId {
    if (const auto known = copies.find(id); known != copies.end()) return known->second;
    const Term& term = terms[id];
    TermId made = no_term;
    if (term.literal) {
      made = graph.terms().literal(term.facts.type, *term.literal, term.facts.dims);
    } else if (std::find(window.inner.begin(), window.inner.end(), id) == window.inner.end()) {
      made = graph.terms().leaf("leaf" + std::to_string(copies.size()), term.facts);
    } else {
      std::vector<TermId> children;
      for (const TermId child : term.children) children.push_back(self(self, child));
      made = graph.terms().make(graph.terms().operation(terms.operation(term.operation)), term.parameters,
                                children);
    }
    copies.emplace(id, made);
    return made;
  };
  std::vector<TermId> roots;
  for (const TermId root : window.roots) {
    roots.push_back(copy(copy, root));
    if (roots.back() == no_term) return {};
  }
  graph.take_in();
  return roots;
}

std::optional<Improvement> improve(const Terms& terms, const Window& window,
                                   const std::vector<std::shared_ptr<const Rule>>& rules,
                                   const TermCost& cost, const SaturationOptions& options) {
  const auto made = std::make_shared<EGraph>(EGraphLimits{options.most_terms});
  EGraph& graph = *made;
  std::map<TermId, TermId> copies;
  const std::vector<TermId> roots = copy_window(terms, window, graph, &copies);
  if (roots.empty()) return std::nullopt;
  const Saturation saturation = saturate(graph, rules, options);
  const Extraction best = extract(graph, roots, cost, saturation);
  if (best.cost >= best.before * (1 - 1e-9)) return std::nullopt;
  Improvement improvement{best.before,          best.cost, {},    {},         saturation.stopped,
                          graph.terms().size(), made,      roots, best.roots, std::move(copies)};
  for (size_t k = 0; k < roots.size(); ++k) {
    if (roots[k] == best.roots[k]) continue;
    const Explanation explanation = graph.explain(roots[k], best.roots[k]);
    if (!explanation.safe) return std::nullopt;
    if (const auto wrong = replay(explanation, graph.terms()))
      throw Error(Fault::internal, "an explanation does not replay: " + *wrong);
    improvement.uses.insert(explanation.uses.begin(), explanation.uses.end());
    improvement.text += print(explanation, graph.terms());
  }
  return improvement;
}

bool follows_from(const Rule& rule, const std::vector<std::shared_ptr<const Rule>>& others,
                  const SaturationOptions& options) {
  EGraph graph({options.most_terms});
  Substitution substitution;
  SizeValues none;
  for (const TermId id : rule.variables)
    substitution[id] = graph.terms().leaf(rule.terms[id].leaf, rule.terms[id].facts);
  std::vector<std::pair<TermId, TermId>> pairs;
  for (size_t k = 0; k < rule.left.size(); ++k) {
    pairs.emplace_back(instantiate(rule, rule.left[k], substitution, none, graph.terms()),
                       instantiate(rule, rule.right[k], substitution, none, graph.terms()));
    if (pairs.back().first == no_term || pairs.back().second == no_term) return false;
  }
  graph.take_in();
  saturate(graph, others, options);
  return std::all_of(pairs.begin(), pairs.end(),
                     [&](const auto& pair) { return graph.equal(pair.first, pair.second); });
}

}  // namespace axrun::search::algebra
