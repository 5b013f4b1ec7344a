#include "search/algebra/rule.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "ir/error.h"
#include "search/algebra/term_text.h"

namespace axrun::search::algebra {
namespace {

/// The same for terms that differ in names only; sums and products sorted by it.
std::string shape_of(const Terms& terms, TermId id) {
  const Term& term = terms[id];
  if (term.literal) return fmt::format("={}", *term.literal);
  if (term.operation < 0) return fmt::format("?{}", term.facts.dims.size());
  std::vector<std::string> children;
  for (const TermId child : term.children) children.push_back(shape_of(terms, child));
  const Operation& operation = terms.operation(term.operation);
  if (is_sum_or_product(operation)) std::sort(children.begin(), children.end());
  return fmt::format("{}({})", operation.key(), fmt::join(children, ","));
}

std::vector<TermId> in_order(const Terms& terms, const Term& term) {
  std::vector<TermId> children = term.children;
  if (term.operation < 0 || !is_sum_or_product(terms.operation(term.operation))) return children;
  std::vector<std::pair<std::string, TermId>> keyed;
  for (const TermId child : children) keyed.emplace_back(shape_of(terms, child), child);
  std::stable_sort(keyed.begin(), keyed.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (size_t k = 0; k < keyed.size(); ++k) children[k] = keyed[k].second;
  return children;
}

std::string name_of_variable(size_t k) {
  return k < 26 ? std::string(1, static_cast<char>('a' + k)) : fmt::format("v{}", k);
}

class Renaming {
 public:
  explicit Renaming(const Terms& from) : from_(from) {}

  void name(TermId root) {
    if (!seen_.insert(root).second) return;
    const Term& term = from_[root];
    for (const TermId child : in_order(from_, term)) name(child);
    if (term.operation < 0 && !term.literal) {
      names(term.facts.dims);
      variables_.emplace(root, name_of_variable(variables_.size()));
    }
    for (const ir::Dims& list : term.parameters) names(list);
  }

  TermId copy(TermId id, Terms& to) {
    if (const auto known = copies_.find(id); known != copies_.end()) return known->second;
    const Term& term = from_[id];
    TermId made = no_term;
    if (term.literal) {
      made = to.literal(term.facts.type, *term.literal, renamed(term.facts.dims));
    } else if (term.operation < 0) {
      const auto name = variables_.find(id);
      if (name == variables_.end())
        throw Error(Fault::user, "the right side reads what the left one does not");
      Facts facts = term.facts;
      facts.dims = renamed(facts.dims);
      facts.constant = false;
      made = to.leaf(name->second, facts);
    } else {
      std::vector<TermId> children;
      for (const TermId child : in_order(from_, term)) children.push_back(copy(child, to));
      std::vector<ir::Dims> parameters;
      for (const ir::Dims& list : term.parameters) parameters.push_back(renamed(list));
      made = to.make(to.operation(from_.operation(term.operation)), parameters, children);
    }
    if (made == no_term) throw Error(Fault::user, "a side is not defined");
    copies_.emplace(id, made);
    return made;
  }
  const std::map<std::string, ir::Dim>& sizes() const { return sizes_; }

 private:
  void names(const ir::Dims& dims) {
    for (const ir::Dim& dim : dims) {
      std::vector<std::string> symbols;
      dim.collect_symbols(symbols);
      for (const std::string& symbol : symbols)
        sizes_.emplace(symbol, ir::Dim::symbol(fmt::format("n{}", sizes_.size())));
    }
  }
  ir::Dims renamed(ir::Dims dims) const {
    for (ir::Dim& dim : dims) dim = dim.substitute(sizes_);
    return dims;
  }

  const Terms& from_;
  std::set<TermId> seen_;
  std::map<TermId, std::string> variables_;
  std::map<TermId, TermId> copies_;
  std::map<std::string, ir::Dim> sizes_;
};

std::string skeleton_of(const Terms& terms, TermId id, std::map<TermId, std::string>& names) {
  const Term& term = terms[id];
  if (term.literal) return fmt::format("{}", *term.literal);
  if (term.operation < 0) return names.emplace(id, name_of_variable(names.size())).first->second;
  std::vector<std::string> children;
  for (const TermId child : in_order(terms, term)) children.push_back(skeleton_of(terms, child, names));
  return fmt::format("{}({})", terms.name(id), fmt::join(children, ", "));
}

std::string both_sides(const Rule& rule) {
  std::map<TermId, std::string> names;
  std::vector<std::string> left, right;
  for (const TermId root : rule.left) left.push_back(skeleton_of(rule.terms, root, names));
  for (const TermId root : rule.right) right.push_back(skeleton_of(rule.terms, root, names));
  return fmt::format("{} = {}", fmt::join(left, " | "), fmt::join(right, " | "));
}

/// A rule's parts that follow from its sides.
void complete(Rule& rule) {
  std::set<std::string> symbols;
  std::vector<TermId> roots = rule.left;
  roots.insert(roots.end(), rule.right.begin(), rule.right.end());
  rule.variables = leaves_of(rule.terms, rule.left);
  std::sort(rule.variables.begin(), rule.variables.end(), [&](TermId a, TermId b) {
    const std::string &x = rule.terms[a].leaf, &y = rule.terms[b].leaf;
    return x.size() != y.size() ? x.size() < y.size() : x < y;
  });
  const auto collect = [&](const ir::Dims& dims) {
    for (const ir::Dim& dim : dims) {
      std::vector<std::string> names;
      dim.collect_symbols(names);
      symbols.insert(names.begin(), names.end());
    }
  };
  for (const TermId id : reached_from(rule.terms, roots)) {
    if (rule.terms[id].operation < 0) collect(rule.terms[id].facts.dims);
    for (const ir::Dims& list : rule.terms[id].parameters) collect(list);
  }
  rule.sizes.clear();
  for (const std::string& name : symbols) rule.sizes.push_back({name, 1, largest_size, 1});
  std::string ops;
  for (const TermId root : rule.left) {
    const std::vector<TermId> order = reached_from(rule.terms, {root});
    for (auto id = order.rbegin(); id != order.rend(); ++id) {
      if (rule.terms[*id].operation < 0) continue;
      std::string name = rule.terms.name(*id);
      std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
      ops += name + "-";
    }
  }
  rule.id = ops + hash_of(statement(rule));
}

}  // namespace

Rule canonical(const Terms& terms, const std::vector<TermId>& left, const std::vector<TermId>& right) {
  Rule rule;
  Renaming renaming(terms);
  for (const TermId root : left) renaming.name(root);
  for (const TermId root : left) rule.left.push_back(renaming.copy(root, rule.terms));
  for (const TermId root : right) rule.right.push_back(renaming.copy(root, rule.terms));
  complete(rule);
  return rule;
}

std::string print(const Terms& terms, TermId id) {
  const Term& term = terms[id];
  if (term.literal) return print_literal(term);
  if (term.operation < 0) return "?" + term.leaf;
  std::vector<std::string> children;
  for (const TermId child : in_order(terms, term)) children.push_back(print(terms, child));
  const Operation& operation = terms.operation(term.operation);
  if (is_sum_or_product(operation)) std::sort(children.begin(), children.end());
  return fmt::format("{}({})", print_operation(terms, id), fmt::join(children, ", "));
}

std::string statement(const Rule& rule) {
  std::string text;
  for (const TermId id : rule.variables) {
    const Term& variable = rule.terms[id];
    text += fmt::format("  var {} {}{}\n", variable.leaf, ir::name_of(variable.facts.type),
                        ir::to_string(variable.facts.dims));
  }
  for (const TermId root : rule.left) text += fmt::format("  left {}\n", print(rule.terms, root));
  for (const TermId root : rule.right) text += fmt::format("  right {}\n", print(rule.terms, root));
  return text;
}

std::string skeleton(const Rule& rule) { return both_sides(rule); }
std::string equation(const Rule& rule) { return both_sides(rule); }

Sides sides(const Rule& rule) {
  return {program_of(rule.terms, rule.left, rule.variables),
          program_of(rule.terms, rule.right, rule.variables)};
}

void establish(Rule& rule, const Prover& prover) {
  const std::optional<IdentityEvidence> found = prover(sides(rule), rule.sizes);
  if (!found) return;
  rule.equality = found->equality;
  rule.safety = rule.safety_back = {verify::Verdict::unknown, "equality is not proved", 0};
  if (rule.equality.verdict == verify::Verdict::proved) {
    rule.safety = found->safety;
    rule.safety_back = found->safety_back;
  }
  rule.established = true;
}

}  // namespace axrun::search::algebra
