#include "verify/witness.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

namespace axrun::verify {
namespace {

struct Unknown {
  Term variable;
  int64_t coefficient;
  int64_t step;
  std::optional<Term> size;  ///< of a product with a size, that one
  int64_t weight() const { return coefficient * step; }
};

/// Larger weights first: those with a size before those without.
bool weighs_more(const Terms& terms, const Unknown& a, const Unknown& b) {
  if (a.size.has_value() != b.size.has_value()) return a.size.has_value();
  if (a.size && *a.size != *b.size) return terms.magnitude(*a.size) > terms.magnitude(*b.size);
  return a.weight() > b.weight();
}

/// An unknown times something without unknowns.
std::optional<Unknown> scaled_by_size(const Terms& terms, const std::map<Term, int64_t>& steps, Term atom,
                                      int64_t coefficient) {
  const Terms::Node& node = terms.node(atom);
  if (node.kind != Terms::Kind::product) return std::nullopt;
  for (const size_t k : {0, 1}) {
    const auto found = steps.find(node.arguments[k]);
    const Term size = node.arguments[1 - k];
    const bool mentions = std::any_of(steps.begin(), steps.end(),
                                      [&](const auto& entry) { return terms.mentions(size, entry.first); });
    if (found != steps.end() && !mentions) return Unknown{found->first, coefficient, found->second, size};
  }
  return std::nullopt;
}

/// left - right as a sum over unknowns and what is known; false where an unknown stands within an atom.
bool split(Terms& terms, const std::map<Term, int64_t>& steps, Term difference,
           std::vector<Unknown>& unknowns, Term& known) {
  const LinearForm form = terms.linear(difference);
  known = terms.integer(form.constant);
  for (const auto& [atom, coefficient] : form.coefficients) {
    const auto found = steps.find(atom);
    if (found != steps.end()) {
      unknowns.push_back({atom, coefficient, found->second, std::nullopt});
      continue;
    }
    if (auto scaled = scaled_by_size(terms, steps, atom, coefficient)) {
      unknowns.push_back(*scaled);
      continue;
    }
    for (const auto& entry : steps) {
      if (terms.mentions(atom, entry.first)) return false;
    }
    known = terms.add(known, terms.scale(coefficient, atom));
  }
  return true;
}

/// Quotients and remainders of one term by one divisor, as far as equations tell their values.
class Divisions {
 public:
  Divisions(Terms& terms, const std::map<Term, int64_t>& unknowns) : terms_(terms), unknowns_(unknowns) {}

  /// Where left = right has one quotient or remainder over unknowns and is known otherwise, its value is
  /// noted. Both known: the term that is divided equals quotient * divisor + remainder.
  std::optional<std::pair<Term, Term>> note(Term left, Term right) {
    const LinearForm form = terms_.linear(terms_.subtract(left, right));
    std::optional<Term> found;
    Term rest = terms_.integer(-form.constant);
    int64_t sign = 1;
    for (const auto& [atom, coefficient] : form.coefficients) {
      const bool open = std::any_of(unknowns_.begin(), unknowns_.end(),
                                    [&](const auto& entry) { return terms_.mentions(atom, entry.first); });
      if (!open) {
        rest = terms_.subtract(rest, terms_.scale(coefficient, atom));
        continue;
      }
      const Terms::Kind kind = terms_.node(atom).kind;
      const bool division = kind == Terms::Kind::floor_div || kind == Terms::Kind::floor_mod;
      if (found || !division || std::abs(coefficient) != 1) return std::nullopt;
      found = atom;
      sign = coefficient;
    }
    if (!found) return std::nullopt;
    const TermList divided = terms_.node(*found).arguments;
    auto& values = values_[{divided[0], divided[1]}];
    const bool quotient = terms_.node(*found).kind == Terms::Kind::floor_div;
    (quotient ? values.first : values.second) = terms_.scale(sign, rest);
    if (!values.first || !values.second) return std::nullopt;
    return std::make_pair(divided[0], terms_.add(terms_.multiply(*values.first, divided[1]), *values.second));
  }

 private:
  Terms& terms_;
  const std::map<Term, int64_t>& unknowns_;
  std::map<std::pair<Term, Term>, std::pair<std::optional<Term>, std::optional<Term>>> values_;
};

}  // namespace

std::map<Term, Term> solve(Terms& terms, const std::map<Term, int64_t>& steps,
                           std::vector<std::pair<Term, Term>> equations) {
  std::map<Term, Term> solved;
  std::map<Term, int64_t> open = steps;
  const auto found = [&](Term variable, Term value) {
    solved[variable] = value;
    open.erase(variable);
  };
  const auto attempt = [&](const std::pair<Term, Term>& equation, size_t most) {
    const Term left = terms.substitute(equation.first, solved);
    std::vector<Unknown> unknowns;
    Term known;
    if (!split(terms, open, terms.subtract(left, equation.second), unknowns, known)) return false;
    if (unknowns.empty() || unknowns.size() > most) return false;
    // The sum over the unknowns equals this.
    Term rest = terms.scale(-1, known);
    const bool negative =
        std::all_of(unknowns.begin(), unknowns.end(), [](const Unknown& u) { return u.coefficient < 0; });
    if (negative) {
      rest = known;
      for (Unknown& unknown : unknowns) unknown.coefficient = -unknown.coefficient;
    }
    std::sort(unknowns.begin(), unknowns.end(),
              [&](const Unknown& a, const Unknown& b) { return weighs_more(terms, a, b); });
    for (size_t k = 0; k < unknowns.size(); ++k) {
      if (unknowns[k].coefficient <= 0) return false;
      for (size_t i = 0; i < k; ++i) {
        if (unknowns[i].variable == unknowns[k].variable) return false;
      }
    }
    for (size_t k = 0; k < unknowns.size(); ++k) {
      const Unknown& unknown = unknowns[k];
      const bool last = k + 1 == unknowns.size();
      const Term one = unknown.size.value_or(terms.integer(1));
      const int64_t divisor = last ? unknown.coefficient : unknown.weight();
      Term value = terms.floor_div(rest, terms.scale(divisor, one));
      if (!last) value = terms.scale(unknown.step, value);
      found(unknown.variable, value);
      rest = terms.subtract(rest, terms.scale(unknown.coefficient, terms.multiply(one, value)));
    }
    return true;
  };
  Divisions divisions(terms, steps);
  // Equations of one unknown first: what they determine simplifies the others.
  for (bool more = true; more && !open.empty();) {
    more = false;
    for (const size_t most : {size_t{1}, steps.size()}) {
      for (const auto& equation : equations) more = attempt(equation, most) || more;
      if (more) break;
    }
    for (size_t k = 0; k < equations.size() && !more && equations.size() < 64; ++k) {
      const auto known = divisions.note(terms.substitute(equations[k].first, solved), equations[k].second);
      if (!known || std::find(equations.begin(), equations.end(), *known) != equations.end()) continue;
      equations.push_back(*known);
      more = true;
    }
  }
  return solved;
}

}  // namespace axrun::verify
