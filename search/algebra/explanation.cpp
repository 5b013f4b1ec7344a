// Why terms of an e-graph are equal, from the links that made them so, and the check of it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ir/error.h"
#include "search/algebra/egraph.h"

namespace axrun::search::algebra {

/// The way between two terms in the forest: it has been there since they became equal, so what it needs of
/// children is older than any link on it.
void EGraph::path(TermId from, TermId to, std::set<int>& links, std::set<std::pair<int, bool>>& seen) const {
  std::vector<TermId> above{from};
  while (edges_[static_cast<size_t>(above.back())].to != no_term)
    above.push_back(edges_[static_cast<size_t>(above.back())].to);
  std::vector<std::pair<int, bool>> ways;  // link, from left to right
  TermId meeting = to;
  std::vector<std::pair<int, bool>> down;
  while (std::find(above.begin(), above.end(), meeting) == above.end()) {
    const Edge& edge = edges_[static_cast<size_t>(meeting)];
    AXRUN_ASSERT(edge.to != no_term);
    down.emplace_back(edge.link, links_[static_cast<size_t>(edge.link)].right == meeting);
    meeting = edge.to;
  }
  for (TermId at = from; at != meeting; at = edges_[static_cast<size_t>(at)].to) {
    const int link = edges_[static_cast<size_t>(at)].link;
    ways.emplace_back(link, links_[static_cast<size_t>(link)].left == at);
  }
  ways.insert(ways.end(), down.rbegin(), down.rend());
  for (const auto& [index, forward] : ways) {
    if (!seen.emplace(index, forward).second) continue;
    links.insert(index);
    const Link& link = links_[static_cast<size_t>(index)];
    for (size_t k = 0; k < link.left_children.size(); ++k) {
      const TermId left = link.left_children[k], right = link.right_children[k];
      path(forward ? left : right, forward ? right : left, links, seen);
    }
  }
}

Explanation EGraph::explain(TermId from, TermId to) const {
  AXRUN_ASSERT(equal(from, to));
  Explanation explanation;
  explanation.from = from;
  explanation.to = to;
  std::set<int> links;
  std::set<std::pair<int, bool>> seen;
  path(from, to, links, seen);
  for (const int link : links) explanation.steps.push_back(links_[static_cast<size_t>(link)]);
  for (const auto& [index, forward] : seen) {
    const Link& link = links_[static_cast<size_t>(index)];
    if (!link.rule) continue;
    explanation.uses.emplace(link.rule->id, forward);
    explanation.safe = explanation.safe && link.rule->usable(forward);
  }
  return explanation;
}

TermId instantiate(const Rule& rule, TermId id, const Substitution& substitution, const SizeValues& sizes,
                   Terms& terms) {
  const auto known = [&](ir::Dims dims) {
    for (ir::Dim& dim : dims) dim = dim.substitute(sizes);
    return dims;
  };
  const Term& term = rule.terms[id];
  if (term.literal) return terms.literal(term.facts.type, *term.literal, known(term.facts.dims));
  if (term.operation < 0) {
    const auto bound = substitution.find(id);
    if (bound == substitution.end()) return no_term;
    const Facts& facts = terms[bound->second].facts;
    return facts.type == term.facts.type && facts.dims == known(term.facts.dims) ? bound->second : no_term;
  }
  std::vector<TermId> children;
  for (const TermId child : term.children) {
    children.push_back(instantiate(rule, child, substitution, sizes, terms));
    if (children.back() == no_term) return no_term;
  }
  std::vector<ir::Dims> parameters;
  for (const ir::Dims& list : term.parameters) parameters.push_back(known(list));
  return terms.make(terms.operation(rule.terms.operation(term.operation)), parameters, children);
}

std::optional<std::string> replay(const Explanation& explanation, Terms& terms) {
  std::map<TermId, TermId> up;
  const auto find = [&](TermId id) {
    for (auto next = up.find(id); next != up.end(); next = up.find(id)) id = next->second;
    return id;
  };
  for (const Link& link : explanation.steps) {
    if (link.rule) {
      const Rule& rule = *link.rule;
      if (!rule.established || rule.equality.verdict != verify::Verdict::proved)
        return "a rule that is not proved: " + rule.id;
      if (link.root >= rule.left.size()) return "no such side of " + rule.id;
      for (const auto& [name, value] : link.sizes)
        if (value.is_constant() && (value.value() < 1 || value.value() > largest_size))
          return "a size that is not claimed by " + rule.id;
      if (instantiate(rule, rule.left[link.root], link.substitution, link.sizes, terms) != link.left ||
          instantiate(rule, rule.right[link.root], link.substitution, link.sizes, terms) != link.right)
        return "not an instance of " + rule.id;
    } else {
      if (link.left_children.size() != link.right_children.size()) return "children differ in number";
      for (size_t k = 0; k < link.left_children.size(); ++k)
        if (find(link.left_children[k]) != find(link.right_children[k]))
          return "children that are not known to be equal";
      if (terms.make(link.operation, link.parameters, link.left_children) != link.left ||
          terms.make(link.operation, link.parameters, link.right_children) != link.right)
        return "not the normal form of one operation";
    }
    const TermId a = find(link.left), b = find(link.right);
    if (a != b) up.emplace(a, b);
  }
  if (find(explanation.from) != find(explanation.to)) return "the steps do not lead to the result";
  return std::nullopt;
}

std::string print(const Explanation& explanation, const Terms& terms) {
  std::string text;
  for (const Link& link : explanation.steps) {
    if (!link.rule) continue;
    text +=
        fmt::format("{}\n    {}\n  = {}\n", link.rule->id, print(terms, link.left), print(terms, link.right));
  }
  return text;
}

}  // namespace axrun::search::algebra
