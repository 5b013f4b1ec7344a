#include "verify/equality/digits.h"

#include <algorithm>

#include "verify/witness.h"

namespace axrun::verify::equality {
namespace {

/// An unknown, and what it is multiplied by.
struct Digit {
  Term variable, weight;
  size_t factors = 0;
};

/// The digits whose sum a term is, most significant first, and what is known; none where it is no such sum.
std::vector<Digit> digits_of(Terms& terms, Term term, const TermList& unknown, Term& known) {
  const LinearForm form = terms.linear(term);
  known = terms.integer(form.constant);
  std::vector<Digit> digits;
  for (const auto& [atom, coefficient] : form.coefficients) {
    const bool mentions =
        std::any_of(unknown.begin(), unknown.end(), [&](Term v) { return terms.mentions(atom, v); });
    if (!mentions) {
      known = terms.add(known, terms.scale(coefficient, atom));
      continue;
    }
    TermList factors;
    collect_factors(terms, atom, factors);
    Digit digit{{}, terms.integer(coefficient), factors.size()};
    bool one = false;
    for (const Term factor : factors) {
      if (std::find(unknown.begin(), unknown.end(), factor) != unknown.end()) {
        if (one) return {};
        one = true;
        digit.variable = factor;
      } else {
        digit.weight = terms.multiply(digit.weight, factor);
      }
    }
    if (!one || coefficient <= 0) return {};
    digits.push_back(digit);
  }
  std::stable_sort(digits.begin(), digits.end(),
                   [](const Digit& a, const Digit& b) { return a.factors > b.factors; });
  if (digits.empty() || digits.back().factors != 1) return {};
  return digits;
}

}  // namespace

void collect_factors(const Terms& terms, Term term, TermList& factors) {
  if (terms.node(term).kind == Terms::Kind::product) {
    for (const Term argument : terms.node(term).arguments) collect_factors(terms, argument, factors);
  } else {
    factors.push_back(term);
  }
}

std::map<Term, Term> solve_digits(Terms& terms, const TermList& variables,
                                  const std::vector<std::pair<Term, Term>>& equations) {
  std::map<Term, int64_t> steps;
  for (const Term v : variables) steps[v] = 1;
  std::map<Term, Term> solved = solve(terms, steps, equations);
  for (const auto& [left, right] : equations) {
    TermList unknown;
    for (const Term v : variables)
      if (solved.count(v) == 0) unknown.push_back(v);
    if (unknown.size() < 2) break;
    Term known;
    const std::vector<Digit> digits = digits_of(terms, terms.substitute(left, solved), unknown, known);
    if (digits.size() < 2) continue;
    Term rest = terms.subtract(right, known);
    for (size_t k = 0; k < digits.size(); ++k) {
      const bool last = k + 1 == digits.size();
      const Term value =
          last && digits[k].weight == terms.integer(1) ? rest : terms.floor_div(rest, digits[k].weight);
      solved[digits[k].variable] = value;
      rest = terms.subtract(rest, terms.multiply(digits[k].weight, value));
    }
  }
  return solved;
}

}  // namespace axrun::verify::equality
