// The cheapest terms of an e-graph: trees first, then what sharing changes.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/known_scalars.h"
#include "ir/operation_count.h"
#include "search/algebra/saturation.h"

namespace axrun::search::algebra {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

class Extractor {
 public:
  Extractor(EGraph& graph, const std::vector<TermId>& roots, const TermCost& cost)
      : graph_(graph), roots_(roots), cost_(cost) {}

  Extraction run(const Saturation& saturation) {
    Extraction extraction;
    {
      // As they were.
      double sum = 0;
      for (const TermId id : reached_from(graph_.terms(), roots_)) sum += cost_of(id);
      extraction.before = sum;
    }
    cheapest_trees();
    double best = total(choice_);
    improve(best, saturation);
    if (best >= extraction.before) {
      extraction.roots = roots_;
      extraction.cost = extraction.before;
      return extraction;
    }
    extraction.cost = best;
    std::map<TermId, TermId> built;
    for (const TermId root : roots_) extraction.roots.push_back(build(root, built));
    return extraction;
  }

 private:
  using Choice = std::map<TermId, TermId>;  ///< of classes

  double cost_of(TermId id) {
    const auto [place, added] = costs_.emplace(id, 0);
    if (!added) return place->second;
    const Term& term = graph_.terms()[id];
    if (term.operation < 0 || graph_.constant(id)) return 0;
    return place->second = cost_(graph_.terms(), id);
  }

  void cheapest_trees() {
    std::map<TermId, double> best;
    const std::vector<TermId> classes = graph_.classes();
    for (bool changed = true; changed;) {
      changed = false;
      for (const TermId id : classes) {
        for (const TermId member : graph_.members(id)) {
          const Term& term = graph_.terms()[member];
          double sum = cost_of(member);
          // Among equals the one of few operations, so that no choice is its own argument.
          if (term.operation >= 0) sum += 1e-6;
          for (const TermId child : term.children) {
            const auto known = best.find(graph_.find(child));
            sum += known == best.end() ? infinite : known->second;
          }
          const auto old = best.find(id);
          if (sum < (old == best.end() ? infinite : old->second)) {
            best[id] = sum;
            choice_[id] = member;
            changed = true;
          }
        }
      }
    }
  }

  /// Of everything that the choice reaches, each class once; infinite where a choice is its own argument.
  double total(const Choice& choice) {
    std::map<TermId, int> state;
    double sum = 0;
    const auto visit = [&](const auto& self, TermId id) -> bool {
      id = graph_.find(id);
      int& mark = state[id];
      if (mark == 1) return false;
      if (mark == 2) return true;
      mark = 1;
      const auto chosen = choice.find(id);
      if (chosen == choice.end()) return false;
      sum += cost_of(chosen->second);
      for (const TermId child : graph_.terms()[chosen->second].children)
        if (!self(self, child)) return false;
      state[id] = 2;
      return true;
    };
    for (const TermId root : roots_)
      if (!visit(visit, root)) return infinite;
    return sum;
  }

  std::set<TermId> reached(const Choice& choice) {
    std::set<TermId> seen;
    const auto visit = [&](const auto& self, TermId id) -> void {
      id = graph_.find(id);
      if (!seen.insert(id).second) return;
      for (const TermId child : graph_.terms()[choice.at(id)].children) self(self, child);
    };
    for (const TermId root : roots_) visit(visit, root);
    return seen;
  }

  /// Other terms for one class, or for those that a rule gave together.
  void improve(double& best, const Saturation& saturation) {
    int tries = 0;
    const auto attempt = [&](const std::vector<TermId>& terms) {
      Choice other = choice_;
      for (const TermId id : terms) other[graph_.find(id)] = id;
      const double cost = total(other);
      ++tries;
      if (cost >= best) return false;
      best = cost;
      choice_ = std::move(other);
      return true;
    };
    for (bool better = true; better && tries < 3000;) {
      better = false;
      for (const auto& together : saturation.companions)
        if (tries < 3000) better = attempt(together) || better;
      for (const TermId id : reached(choice_)) {
        for (const TermId member : graph_.members(id))
          if (member != choice_.at(id) && tries < 3000) better = attempt({member}) || better;
      }
    }
  }

  /// Classes may become one while their terms are built: any choice among theirs will do, once.
  TermId chosen_of(TermId id) {
    if (const auto known = choice_.find(graph_.find(id)); known != choice_.end()) return known->second;
    for (const TermId member : graph_.members(id))
      if (const auto known = choice_.find(member); known != choice_.end()) return known->second;
    return id;
  }

  TermId build(TermId id, std::map<TermId, TermId>& built) {
    const TermId chosen = chosen_of(id);
    if (const auto known = built.find(chosen); known != built.end()) return known->second;
    built.emplace(chosen, chosen);
    const Term& term = graph_.terms()[chosen];
    TermId made = chosen;
    if (term.operation >= 0) {
      std::vector<TermId> children;
      for (const TermId child : term.children) children.push_back(build(child, built));
      made = graph_.make(term.operation, term.parameters, children);
      // Normal forms of operations on other members are equal by then: see EGraph::rebuild.
      graph_.rebuild();
    }
    built[chosen] = made;
    return made;
  }

  EGraph& graph_;
  const std::vector<TermId>& roots_;
  const TermCost& cost_;
  std::map<TermId, double> costs_;
  Choice choice_;
};

}  // namespace

Extraction extract(EGraph& graph, const std::vector<TermId>& roots, const TermCost& cost,
                   const Saturation& saturation) {
  Extraction best = Extractor(graph, roots, cost).run(saturation);
  for (size_t k = 0; k < roots.size(); ++k) {
    if (best.roots[k] == no_term || !graph.equal(best.roots[k], roots[k]))
      return {roots, best.before, best.before};
  }
  return best;
}

TermCost operation_cost(int64_t size) {
  return [size](const Terms& terms, TermId id) {
    const Term& term = terms[id];
    const auto known = [&](const ir::Dims& dims) {
      double elements = 1;
      for (const ir::Dim& dim : dims) {
        std::vector<std::string> names;
        dim.collect_symbols(names);
        std::map<std::string, ir::Dim> values;
        for (const std::string& name : names) values.emplace(name, ir::Dim(size));
        elements *= static_cast<double>(dim.substitute(values).constant().value_or(size));
      }
      return elements;
    };
    std::map<std::string, ir::Dim> values;
    const auto collect = [&](const ir::Dims& dims) {
      for (const ir::Dim& dim : dims) {
        std::vector<std::string> names;
        dim.collect_symbols(names);
        for (const std::string& name : names) values.emplace(name, ir::Dim(size));
      }
    };
    std::vector<bool> constant;
    double moved = known(term.facts.dims);
    for (const TermId child : term.children) {
      collect(terms[child].facts.dims);
      constant.push_back(terms[child].facts.constant);
      moved += known(terms[child].facts.dims);
    }
    collect(term.facts.dims);
    for (const ir::Dims& list : term.parameters) collect(list);
    const ir::OperationCount count =
        ir::count_operations(ir::with_known_sizes(*term.program, values), constant);
    // A fused multiply-add does two; an element moved is worth a few of them.
    const double work = count.contraction / 16 + count.arithmetic / 8 + 2 * count.transcendental +
                        count.integer_contraction / 16 + count.integer_arithmetic / 8;
    return work + moved / 4 + 100;
  };
}

}  // namespace axrun::search::algebra
