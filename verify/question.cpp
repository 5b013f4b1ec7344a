#include "verify/question.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

namespace axrun::verify {
namespace {

using TermKind = Terms::Kind;

/// Conjunctions as their members, once each.
void flatten(const Terms& terms, const TermList& facts, std::set<Term>& seen, TermList& flat) {
  for (const Term fact : facts) {
    const Terms::Node& node = terms.node(fact);
    if (node.kind == TermKind::all) {
      flatten(terms, node.arguments, seen, flat);
    } else if (!(node.kind == TermKind::truth && node.linear.constant != 0) && seen.insert(fact).second) {
      flat.push_back(fact);
    }
  }
}

/// Numbers of what a fact shares with others: variables, and functions that are the same function everywhere.
class Symbols {
 public:
  explicit Symbols(const Terms& terms) : terms_(terms) {}

  std::vector<int> of(Term fact) {
    visited_.clear();
    found_.clear();
    visit(fact);
    return found_;
  }

 private:
  // Negative: no term has such a number. Products, quotients and remainders have axioms in common.
  static constexpr int products = -1, first_lookup = -2;

  void visit(Term term) {
    if (!visited_.insert(term.id).second) return;
    const Terms::Node& node = terms_.node(term);
    const bool divides = node.kind == TermKind::floor_div || node.kind == TermKind::floor_mod;
    if (node.kind == TermKind::variable) found_.push_back(term.id);
    if (node.kind == TermKind::lookup) found_.push_back(first_lookup - std::stoi(node.name));
    if (node.kind == TermKind::product || (divides && !terms_.is_literal(node.arguments[1])))
      found_.push_back(products);
    for (const auto& entry : node.linear.coefficients) visit(entry.first);
    for (const Term argument : node.arguments) visit(argument);
  }

  const Terms& terms_;
  std::unordered_set<int> visited_;
  std::vector<int> found_;
};

class Text {
 public:
  explicit Text(const Terms& terms) : terms_(terms) {}

  std::string of(const TermList& facts) {
    for (const Term fact : facts) write(fact);
    return std::move(text_);
  }

 private:
  /// A number ends where the next character is no digit; what follows a number is none.
  void number(int64_t value) { text_ += std::to_string(value); }

  void write(Term term) {
    const auto [found, fresh] = places_.try_emplace(term.id, static_cast<int>(places_.size()));
    if (!fresh) {
      text_ += '@';
      number(found->second);
      return;
    }
    const Terms::Node& node = terms_.node(term);
    text_ += static_cast<char>('A' + static_cast<int>(node.kind));
    if (node.kind == TermKind::variable) return;
    if (node.kind == TermKind::lookup) text_ += node.name;
    if (node.kind == TermKind::sum || node.kind == TermKind::truth) number(node.linear.constant);
    for (const auto& [atom, coefficient] : node.linear.coefficients) {
      text_ += '+';
      number(coefficient);
      write(atom);
    }
    if (node.arguments.empty()) return;
    text_ += '(';
    for (const Term argument : node.arguments) write(argument);
    text_ += ')';
  }

  const Terms& terms_;
  std::unordered_map<int, int> places_;  ///< of terms, in the order in which they come
  std::string text_;
};

/// A variable and its value, where the equation has one that stands in no other atom.
std::optional<std::pair<Term, Term>> told_by(Terms& terms, Term equation) {
  if (terms.node(equation).kind != TermKind::zero) return std::nullopt;
  const Term sum = terms.node(equation).arguments[0];
  const LinearForm form = terms.linear(sum);
  for (const auto& [atom, coefficient] : form.coefficients) {
    if (terms.node(atom).kind != TermKind::variable || (coefficient != 1 && coefficient != -1)) continue;
    const bool elsewhere = std::any_of(
        form.coefficients.begin(), form.coefficients.end(), [&, variable = atom](const auto& entry) {
          return entry.first != variable && terms.mentions(entry.first, variable);
        });
    if (elsewhere) continue;
    const Term rest = terms.subtract(sum, terms.scale(coefficient, atom));
    return std::make_pair(atom, terms.scale(-coefficient, rest));
  }
  return std::nullopt;
}

}  // namespace

TermList without_equations(Terms& terms, const TermList& facts) {
  std::set<Term> seen;
  TermList flat;
  flatten(terms, facts, seen, flat);
  for (size_t k = 0; k < flat.size(); ++k) {
    const auto told = told_by(terms, flat[k]);
    if (!told) continue;
    TermList rest;
    for (const Term fact : flat) {
      rest.push_back(terms.mentions(fact, told->first) ? terms.substitute(fact, {*told}) : fact);
    }
    seen.clear();
    flat.clear();
    flatten(terms, rest, seen, flat);
    k = static_cast<size_t>(-1);  // from the start
  }
  return flat;
}

std::optional<TermList> variables_of(const Terms& terms, const TermList& facts) {
  std::set<Term> visited;
  TermList open = facts, found;
  while (!open.empty()) {
    const Term term = open.back();
    open.pop_back();
    if (!visited.insert(term).second) continue;
    const Terms::Node& node = terms.node(term);
    const bool divides = node.kind == TermKind::floor_div || node.kind == TermKind::floor_mod;
    if (node.kind == TermKind::lookup || (divides && !terms.is_literal(node.arguments[1])))
      return std::nullopt;
    if (node.kind == TermKind::variable) found.push_back(term);
    for (const auto& entry : node.linear.coefficients) open.push_back(entry.first);
    open.insert(open.end(), node.arguments.begin(), node.arguments.end());
  }
  return found;
}

std::vector<TermList> independent_parts(const Terms& terms, const TermList& facts) {
  std::set<Term> seen;
  TermList flat;
  flatten(terms, facts, seen, flat);
  Symbols symbols(terms);
  // Facts by the root of their group: the first fact of it.
  std::vector<size_t> roots(flat.size());
  const auto root_of = [&](size_t at) {
    while (roots[at] != at) at = roots[at] = roots[roots[at]];
    return at;
  };
  std::unordered_map<int, size_t> mentioned;
  for (size_t k = 0; k < flat.size(); ++k) {
    roots[k] = k;
    for (const int symbol : symbols.of(flat[k])) {
      const size_t before = root_of(mentioned.try_emplace(symbol, k).first->second), here = root_of(k);
      roots[std::max(before, here)] = std::min(before, here);
    }
  }
  std::vector<TermList> parts(flat.size());
  for (size_t k = 0; k < flat.size(); ++k) parts[root_of(k)].push_back(flat[k]);
  if (!flat.empty()) std::swap(parts[0], parts[root_of(flat.size() - 1)]);
  std::erase_if(parts, [](const TermList& part) { return part.empty(); });
  return parts;
}

std::string question_text(const Terms& terms, const TermList& facts) { return Text(terms).of(facts); }

}  // namespace axrun::verify
