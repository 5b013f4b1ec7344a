#include "search/algebra/matching.h"

#include <algorithm>

namespace axrun::search::algebra {
namespace {

std::vector<std::string> symbols_of(const ir::Dim& dim) {
  std::vector<std::string> names;
  dim.collect_symbols(names);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

/// Values of sizes under which patterns of dims are the dims that were met.
class Unifier {
 public:
  bool meet(const ir::Dim& pattern, const ir::Dim& met) {
    if (pattern.is_constant()) return pattern == met;
    open_.emplace_back(pattern, met);
    return true;
  }
  bool meet(const ir::Dims& pattern, const ir::Dims& met) {
    if (pattern.size() != met.size()) return false;
    for (size_t d = 0; d < pattern.size(); ++d)
      if (!meet(pattern[d], met[d])) return false;
    return true;
  }
  /// Equations with one unknown at a time.
  std::optional<SizeValues> solve() const {
    SizeValues values;
    std::vector<std::pair<ir::Dim, ir::Dim>> open = open_;
    for (bool progress = true; progress;) {
      progress = false;
      std::vector<std::pair<ir::Dim, ir::Dim>> left;
      for (const auto& [pattern, met] : open) {
        const ir::Dim now = pattern.substitute(values);
        const std::vector<std::string> names = unknown(pattern, values);
        if (names.empty()) {
          if (now != met) return std::nullopt;
        } else if (names.size() > 1 || !solve_for(names[0], pattern, met, values)) {
          left.emplace_back(pattern, met);
          continue;
        }
        progress = true;
      }
      open = std::move(left);
    }
    return open.empty() ? std::optional(values) : std::nullopt;
  }

 private:
  static std::vector<std::string> unknown(const ir::Dim& pattern, const SizeValues& values) {
    std::vector<std::string> names = symbols_of(pattern);
    std::erase_if(names, [&](const std::string& name) { return values.count(name) != 0; });
    return names;
  }
  static bool solve_for(const std::string& name, const ir::Dim& pattern, const ir::Dim& met,
                        SizeValues& values) {
    SizeValues with = values;
    with[name] = ir::Dim(0);
    const ir::Dim rest = pattern.substitute(with);
    with[name] = ir::Dim(1);
    const ir::Dim factor = pattern.substitute(with) - rest;
    if (factor == ir::Dim(0)) return false;
    const ir::Dim value = floor_div(met - rest, factor);
    with[name] = value;
    if (pattern.substitute(with) != met) return false;
    if (value.is_constant() && (value.value() < 1 || value.value() > largest_size)) return false;
    values[name] = value;
    return true;
  }
  std::vector<std::pair<ir::Dim, ir::Dim>> open_;
};

class Matcher {
 public:
  Matcher(EGraph& graph, const Rule& rule, bool left, size_t most)
      : graph_(graph), rule_(rule), roots_(left ? rule.left : rule.right), most_(most) {}

  std::vector<Match> run() {
    start(0, {});
    return std::move(found_);
  }

 private:
  struct Goal {
    TermId pattern, met;  ///< a member of the class
  };
  struct State {
    std::vector<TermId> roots;
    std::vector<Goal> goals;
    Substitution substitution;
    Unifier sizes;
    std::vector<TermId> rest;
  };

  int operation_of(TermId pattern) {
    return graph_.terms().operation(rule_.terms.operation(rule_.terms[pattern].operation));
  }

  void start(size_t root, State state) {
    if (root == roots_.size()) return finish(state);
    const TermId pattern = roots_[root];
    if (rule_.terms[pattern].operation < 0) return;
    std::set<TermId> classes;
    for (const TermId id : graph_.with_operation(operation_of(pattern))) classes.insert(graph_.find(id));
    for (const TermId met : classes) {
      if (done()) return;
      // Roots of one rule are different terms, in one order where it does not matter.
      if (root > 0 && graph_.equal(met, state.roots.back())) continue;
      State next = state;
      next.roots.push_back(met);
      next.goals.push_back({pattern, met});
      solve(std::move(next), root);
    }
  }

  bool done() { return found_.size() >= most_ || ++steps_ > 200000; }

  void solve(State state, size_t root) {
    if (done()) return;
    if (state.goals.empty()) return start(root + 1, std::move(state));
    const Goal goal = state.goals.back();
    state.goals.pop_back();
    const Term& pattern = rule_.terms[goal.pattern];
    if (pattern.operation < 0 && !pattern.literal) {
      const Facts& facts = graph_.terms()[goal.met].facts;
      const auto [bound, added] = state.substitution.emplace(goal.pattern, graph_.find(goal.met));
      if (!added) {
        if (!graph_.equal(bound->second, goal.met)) return;
      } else if (facts.type != pattern.facts.type || !state.sizes.meet(pattern.facts.dims, facts.dims)) {
        return;
      }
      return solve(std::move(state), root);
    }
    const int operation = pattern.literal ? -1 : operation_of(goal.pattern);
    const std::vector<TermId> members = graph_.members(goal.met);
    for (const TermId id : members) {
      const Term& term = graph_.terms()[id];
      if (pattern.literal) {
        if (!term.literal || *term.literal != *pattern.literal || term.facts.type != pattern.facts.type ||
            term.facts.dims.size() != pattern.facts.dims.size())
          continue;
        solve(state, root);
        return;
      }
      if (term.operation != operation || term.parameters.size() != pattern.parameters.size()) continue;
      State next = state;
      bool fits = true;
      for (size_t k = 0; k < term.parameters.size(); ++k)
        fits = fits && next.sizes.meet(pattern.parameters[k], term.parameters[k]);
      if (!fits) continue;
      if (is_sum_or_product(graph_.terms().operation(operation))) {
        distribute(std::move(next), root, goal.pattern, id);
      } else if (term.children.size() == pattern.children.size()) {
        for (size_t k = term.children.size(); k-- > 0;)
          next.goals.push_back({pattern.children[k], term.children[k]});
        solve(std::move(next), root);
      }
    }
  }

  /// Terms of a sum to those of a pattern: each to one of its own, but that one variable may take what is
  /// left. Where there is none, and the sum is all that is looked for, it may be that of some of the terms.
  void distribute(State state, size_t root, TermId of, TermId id) {
    const Term& pattern = rule_.terms[of];
    const std::vector<TermId> children = graph_.terms()[id].children;
    const size_t wanted = pattern.children.size(), have = children.size();
    if (have < wanted || have > 8) return;
    // Which child each pattern gets; `wanted` of them, in every order.
    std::vector<size_t> chosen;
    std::vector<bool> used(have, false);
    const auto place = [&](const auto& self, size_t rest) -> void {
      if (done()) return;
      if (chosen.size() == wanted) {
        State next = state;
        for (size_t k = 0; k < wanted; ++k) {
          TermId met = children[chosen[k]];
          if (k == rest) {
            std::vector<TermId> group{met};
            for (size_t c = 0; c < have; ++c)
              if (!used[c]) group.push_back(children[c]);
            met = graph_.make(graph_.terms()[id].operation, {}, group);
            if (met == no_term) return;
          }
          next.goals.push_back({pattern.children[k], met});
        }
        for (size_t c = 0; c < have && rest == nowhere; ++c)
          if (!used[c]) next.rest.push_back(children[c]);
        solve(std::move(next), root);
        return;
      }
      for (size_t c = 0; c < have; ++c) {
        if (used[c]) continue;
        used[c] = true;
        chosen.push_back(c);
        self(self, rest);
        chosen.pop_back();
        used[c] = false;
      }
    };
    if (have == wanted) return place(place, wanted);
    if (graph_.full()) return;
    bool has_place = false;
    for (size_t rest = 0; rest < wanted; ++rest) {
      const Term& takes = rule_.terms[pattern.children[rest]];
      if (takes.operation >= 0 || takes.literal) continue;
      has_place = true;
      place(place, rest);
    }
    if (!has_place && roots_.size() == 1 && of == roots_[0]) place(place, nowhere);
  }

  static constexpr size_t nowhere = ~size_t{0};

  void finish(const State& state) {
    const auto sizes = state.sizes.solve();
    if (!sizes) return;
    // Variables that only the other side has cannot be known.
    for (const TermId id : rule_.variables)
      if (state.substitution.count(id) == 0) return;
    for (const ir::loop::Size& size : rule_.sizes)
      if (sizes->count(size.name) == 0) return;
    const Match match{state.roots, state.substitution, *sizes, state.rest};
    std::string key;
    for (const TermId id : match.roots) key += std::to_string(id) + ";";
    for (const auto& [variable, value] : match.substitution) key += std::to_string(value) + ",";
    for (const TermId id : match.rest) key += "+" + std::to_string(id);
    if (seen_.insert(key).second) found_.push_back(match);
  }

  EGraph& graph_;
  const Rule& rule_;
  const std::vector<TermId>& roots_;
  size_t most_;
  int steps_ = 0;
  std::set<std::string> seen_;
  std::vector<Match> found_;
};

}  // namespace

std::vector<Match> find_matches(EGraph& graph, const Rule& rule, bool left, size_t most) {
  return Matcher(graph, rule, left, most).run();
}

}  // namespace axrun::search::algebra
