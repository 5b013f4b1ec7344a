// Integers of indices in one form: products sorted, quotients and remainders taken apart where the divisor
// divides a part of the dividend. Divisors that are no literals are sizes, and positive where anything is
// computed.
#include <algorithm>

#include "verify/equality/digits.h"
#include "verify/equality/sum.h"

namespace axrun::verify::equality {
namespace {

using TermKind = Terms::Kind;

/// coefficient * product of atoms.
struct Monomial {
  int64_t coefficient = 1;
  TermList atoms;  ///< sorted
};

Monomial monomial_of(const Terms& terms, Term atom, int64_t coefficient) {
  Monomial made;
  made.coefficient = coefficient;
  collect_factors(terms, atom, made.atoms);
  std::sort(made.atoms.begin(), made.atoms.end());
  return made;
}

std::optional<Monomial> monomial_of(const Terms& terms, Term term) {
  const LinearForm form = terms.linear(term);
  if (form.coefficients.empty()) return Monomial{form.constant, {}};
  if (form.constant != 0 || form.coefficients.size() != 1) return std::nullopt;
  return monomial_of(terms, form.coefficients.begin()->first, form.coefficients.begin()->second);
}

Term term_of(Terms& terms, const Monomial& monomial) {
  Term product = terms.integer(1);
  for (const Term atom : monomial.atoms) product = terms.multiply(product, atom);
  return terms.scale(monomial.coefficient, product);
}

std::optional<Monomial> quotient(const Monomial& a, const Monomial& b) {
  if (b.coefficient == 0 || a.coefficient % b.coefficient != 0) return std::nullopt;
  if (!std::includes(a.atoms.begin(), a.atoms.end(), b.atoms.begin(), b.atoms.end())) return std::nullopt;
  Monomial made;
  made.coefficient = a.coefficient / b.coefficient;
  std::set_difference(a.atoms.begin(), a.atoms.end(), b.atoms.begin(), b.atoms.end(),
                      std::back_inserter(made.atoms));
  return made;
}

/// What a divisor divides, and the rest.
std::pair<Term, Term> divided(Terms& terms, Term a, const Monomial& divisor) {
  Term whole = terms.integer(0), rest = terms.integer(0);
  const LinearForm form = terms.linear(a);
  const auto put = [&](const Monomial& part) {
    if (const auto q = quotient(part, divisor)) {
      whole = terms.add(whole, term_of(terms, *q));
    } else {
      rest = terms.add(rest, term_of(terms, part));
    }
  };
  put({form.constant, {}});
  for (const auto& [atom, coefficient] : form.coefficients) put(monomial_of(terms, atom, coefficient));
  return {whole, rest};
}

/// d * (x div d) + x mod d is x.
Term recomposed(Terms& terms, Term sum) {
  for (bool again = true; again;) {
    again = false;
    const LinearForm form = terms.linear(sum);
    for (const auto& [atom, coefficient] : form.coefficients) {
      if (terms.node(atom).kind != TermKind::floor_mod) continue;
      const Term x = terms.node(atom).arguments[0], d = terms.node(atom).arguments[1];
      const auto divisor = monomial_of(terms, d);
      if (!divisor) continue;
      Term q = terms.floor_div(x, d);
      if (terms.node(x).kind == TermKind::floor_div) {  // quotients of quotients are quotients
        const auto inner = monomial_of(terms, terms.node(x).arguments[1]);
        if (!inner) continue;
        Monomial both = *divisor;
        both.coefficient *= inner->coefficient;
        both.atoms.insert(both.atoms.end(), inner->atoms.begin(), inner->atoms.end());
        std::sort(both.atoms.begin(), both.atoms.end());
        q = terms.floor_div(terms.node(x).arguments[0], term_of(terms, both));
      }
      if (terms.node(q).kind != TermKind::floor_div) continue;
      Monomial product = *divisor;
      product.atoms.push_back(q);
      std::sort(product.atoms.begin(), product.atoms.end());
      product.coefficient *= coefficient;
      const Term whole = term_of(terms, product);
      const LinearForm wanted = terms.linear(whole);
      if (wanted.coefficients.size() != 1) continue;
      const auto found = form.coefficients.find(wanted.coefficients.begin()->first);
      if (found == form.coefficients.end() || found->second != wanted.coefficients.begin()->second) continue;
      sum = terms.add(terms.subtract(terms.subtract(sum, whole), terms.scale(coefficient, atom)),
                      terms.scale(coefficient, x));
      again = true;
      break;
    }
  }
  return sum;
}

}  // namespace

bool Algebra::implied(const TermList& facts, Term goal) {
  if (goal == terms_.truth(true)) return true;
  TermList with = facts;
  with.push_back(terms_.negation(goal));
  return impossible(with);
}

bool Algebra::impossible(const TermList& facts) {
  std::set<Term> visited;
  TermList derived;
  for (const Term fact : facts) collect_derived(fact, visited, derived);
  derived.insert(derived.end(), facts.begin(), facts.end());
  return solver_.impossible(derived);
}

/// Of a term that is no less than 0 and grows with its variables: the value where all are largest.
std::optional<Term> Algebra::upper_bound(Term term) {
  std::map<Term, Term> largest;
  const LinearForm form = terms_.linear(term);
  for (const auto& [part, coefficient] : form.coefficients) {
    if (coefficient < 0) return std::nullopt;
    for (const Term atom : monomial_of(terms_, part, 1).atoms) {
      if (terms_.node(atom).kind != TermKind::variable) return std::nullopt;
      for (const Term fact : range_of(atom)) {
        if (terms_.node(fact).kind != TermKind::non_negative) continue;
        const Term below = terms_.node(fact).arguments[0];  // bound - atom
        const LinearForm range = terms_.linear(below);
        const auto found = range.coefficients.find(atom);
        if (found == range.coefficients.end() || found->second != -1) continue;
        largest.emplace(atom, terms_.add(below, atom));
      }
    }
  }
  if (largest.empty()) return std::nullopt;
  Term sum = terms_.integer(form.constant);
  for (const auto& [part, coefficient] : form.coefficients) {
    Term product = terms_.integer(coefficient);
    for (const Term atom : monomial_of(terms_, part, 1).atoms)
      product = terms_.multiply(product, largest.count(atom) != 0 ? largest.at(atom) : atom);
    sum = terms_.add(sum, product);
  }
  return simplified(sum);
}

/// A product with a size is largest where the other factor is; a quotient of what is less than a multiple of
/// the divisor is less than that multiple.
void Algebra::collect_derived(Term term, std::set<Term>& visited, TermList& derived) {
  if (!visited.insert(term).second) return;
  const Terms::Node node = terms_.node(term);
  for (const auto& entry : node.linear.coefficients) collect_derived(entry.first, visited, derived);
  for (const Term argument : node.arguments) collect_derived(argument, visited, derived);
  const bool quotient = node.kind == TermKind::floor_div && !terms_.is_literal(node.arguments[1]);
  if (node.kind != TermKind::product && !quotient) return;
  const auto known = derived_.find(term);
  if (known != derived_.end()) {
    derived.insert(derived.end(), known->second.begin(), known->second.end());
    return;
  }
  derived_[term] = {};
  TermList found;
  const Term zero = terms_.integer(0);
  const auto not_negative = [&](Term value) {
    return solver_.implied(facts_about({value}), terms_.at_least(value, zero));
  };
  if (node.kind == TermKind::product) {
    const TermList atoms = monomial_of(terms_, term, 1).atoms;
    const bool all = std::all_of(atoms.begin(), atoms.end(), not_negative);
    if (all) {
      found.push_back(terms_.at_least(term, zero));
      if (const auto most = upper_bound(term)) found.push_back(terms_.at_least(*most, term));
    }
  } else if (not_negative(node.arguments[0])) {
    const auto divisor = monomial_of(terms_, node.arguments[1]);
    const auto most = upper_bound(node.arguments[0]);
    if (divisor && divisor->coefficient > 0 && most) {
      const auto [whole, rest] = divided(terms_, terms_.add(*most, terms_.integer(1)), *divisor);
      if (rest == zero) found.push_back(terms_.less(term, whole));
    }
    found.push_back(terms_.at_least(term, zero));
  }
  derived_[term] = found;
  derived.insert(derived.end(), found.begin(), found.end());
}

Term Algebra::simplified(Term term, const TermList& extra) {
  const Terms::Node node = terms_.node(term);
  if (node.kind == TermKind::variable || node.kind == TermKind::truth) return term;
  if (node.kind == TermKind::sum && node.linear.coefficients.empty()) return term;
  const auto known = simplified_.find(term);
  if (known != simplified_.end()) return known->second;

  const auto remembered = [&](Term made) {
    if (extra.empty()) simplified_[term] = made;
    return made;
  };
  if (node.kind == TermKind::sum) {
    Term sum = terms_.integer(node.linear.constant);
    for (const auto& [atom, coefficient] : node.linear.coefficients)
      sum = terms_.add(sum, terms_.scale(coefficient, simplified(atom, extra)));
    return remembered(recomposed(terms_, sum));
  }
  TermList a;
  for (const Term argument : node.arguments) a.push_back(simplified(argument, extra));
  const auto implied = [&](Term goal) {
    TermList facts = facts_about({goal});
    facts.insert(facts.end(), extra.begin(), extra.end());
    return this->implied(facts, goal);
  };
  switch (node.kind) {
    case TermKind::product: {
      const Term product = terms_.multiply(a[0], a[1]);
      Term sum = terms_.integer(terms_.linear(product).constant);
      for (const auto& [atom, coefficient] : terms_.linear(product).coefficients)
        sum = terms_.add(sum, term_of(terms_, monomial_of(terms_, atom, coefficient)));
      return remembered(sum);
    }
    case TermKind::floor_div:
    case TermKind::floor_mod: {
      const bool division = node.kind == TermKind::floor_div;
      const auto divisor = monomial_of(terms_, a[1]);
      if (!divisor || divisor->coefficient <= 0)
        return remembered(division ? terms_.floor_div(a[0], a[1]) : terms_.floor_mod(a[0], a[1]));
      const auto [whole, rest] = divided(terms_, a[0], *divisor);
      const Term zero = terms_.integer(0);
      if (rest == zero) return remembered(division ? whole : zero);
      if (implied(terms_.all({terms_.at_least(rest, zero), terms_.less(rest, a[1])})))
        return remembered(division ? whole : rest);
      const Terms::Node inner = terms_.node(rest);
      const auto made = [&](Term quotient, Term remainder) {
        return remembered(division ? terms_.add(whole, quotient) : remainder);
      };
      if (inner.kind == TermKind::floor_div && division) {
        const Term both = simplified(terms_.multiply(inner.arguments[1], a[1]), extra);
        return made(simplified(terms_.floor_div(inner.arguments[0], both), extra), zero);
      }
      if (inner.kind == TermKind::floor_mod) {
        const auto outer = monomial_of(terms_, inner.arguments[1]);
        if (const auto q = outer ? quotient(*outer, *divisor) : std::nullopt) {
          if (!division) return made(zero, simplified(terms_.floor_mod(inner.arguments[0], a[1]), extra));
          const Term high = terms_.floor_div(inner.arguments[0], a[1]);
          return made(simplified(terms_.floor_mod(high, term_of(terms_, *q)), extra), zero);
        }
      }
      return made(division ? terms_.floor_div(rest, a[1]) : zero,
                  division ? zero : terms_.floor_mod(rest, a[1]));
    }
    case TermKind::minimum:
    case TermKind::maximum: {
      const bool least = node.kind == TermKind::minimum;
      if (implied(terms_.at_least(a[1], a[0]))) return remembered(least ? a[0] : a[1]);
      if (implied(terms_.at_least(a[0], a[1]))) return remembered(least ? a[1] : a[0]);
      return remembered(least ? terms_.minimum(a[0], a[1]) : terms_.maximum(a[0], a[1]));
    }
    case TermKind::choose:
      if (implied(a[0])) return remembered(a[1]);
      if (implied(terms_.negation(a[0]))) return remembered(a[2]);
      return remembered(terms_.choose(a[0], a[1], a[2]));
    case TermKind::lookup:
      return remembered(terms_.lookup(std::stoi(node.name), a[0], TermList(a.begin() + 1, a.end())));
    case TermKind::non_negative:
      return remembered(terms_.at_least(a[0], terms_.integer(0)));
    case TermKind::zero:
      return remembered(terms_.equal(a[0], terms_.integer(0)));
    case TermKind::negation:
      return remembered(terms_.negation(a[0]));
    case TermKind::all:
      return remembered(terms_.all(a));
    case TermKind::any:
      return remembered(terms_.any(a));
    default:
      return term;
  }
}

}  // namespace axrun::verify::equality
