// Signs of sums over the reals, read off how they are made.
#include <algorithm>

#include "verify/equality/sum.h"

namespace axrun::verify::equality {

using Kind = Atom::Kind;
using ir::ScalarOp;

Algebra::Sign Algebra::sign_of_atom(int id) {
  const auto known = signs_.find(id);
  if (known != signs_.end()) return known->second;
  signs_[id] = Sign::unknown;  // while it is looked for
  const Atom& a = atom(id);
  Sign found = Sign::unknown;
  switch (a.kind) {
    case Kind::exponential:
      found = Sign::positive;
      break;
    case Kind::group:
      found = sign(a.branches[0].body);
      break;
    case Kind::step:
      found = Sign::not_negative;
      break;
    case Kind::integer: {
      const TermList facts = facts_about(a.terms);
      if (implied(facts, terms_.at_least(a.terms[0], terms_.integer(1)))) {
        found = Sign::positive;
      } else if (implied(facts, terms_.at_least(a.terms[0], terms_.integer(0)))) {
        found = Sign::not_negative;
      }
      break;
    }
    case Kind::maximum:
      for (const Branch& branch : a.branches) {
        if (branch.variables.empty() && branch.domain.empty()) found = std::max(found, sign(branch.body));
      }
      break;
    case Kind::call: {
      const auto op = static_cast<ScalarOp>(a.number);
      if (op == ScalarOp::abs) found = Sign::not_negative;
      if (op == ScalarOp::cosh) found = Sign::positive;
      break;
    }
    default:
      break;
  }
  if (a.type == ir::ElementType::boolean && found == Sign::unknown) found = Sign::not_negative;
  return signs_[id] = found;
}

/// Of a power that is there: of a root, of what is not negative; of a reciprocal, of what is not 0.
Algebra::Sign Algebra::sign_of_power(const Factor& factor) {
  const Sign base = sign_of_atom(factor.atom);
  if (base == Sign::positive) return base;
  const bool whole = factor.power.get_den() == 1;
  const bool even = whole && mpz_class(factor.power.get_num()) % 2 == 0;
  if (!whole || even || base == Sign::not_negative) {
    return factor.power < 0 ? Sign::positive : Sign::not_negative;
  }
  return Sign::unknown;
}

Algebra::Sign Algebra::sign(const Sum& a) {
  if (a.pieces.empty()) return Sign::not_negative;
  Sign found = Sign::not_negative;
  for (const Piece& piece : a.pieces) {
    if (piece.coefficient < 0) return Sign::unknown;
    Sign here = Sign::positive;
    for (const Factor& factor : piece.factors) here = std::min(here, sign_of_power(factor));
    if (here == Sign::unknown) return Sign::unknown;
    // Of a sum over a domain, where there is something in it: the first of its elements, perhaps.
    if (here == Sign::positive && !piece.domain.empty()) {
      std::map<Term, Term> first;
      for (const Term v : piece.variables) first[v] = terms_.integer(0);
      const Term exists = terms_.substitute(terms_.all(piece.domain), first);
      if (!implied(facts_about({exists}), exists)) here = Sign::not_negative;
    }
    found = std::max(found, here);
  }
  return found;
}

bool Algebra::mentions_exponentials(const Sum& a) {
  return std::any_of(a.pieces.begin(), a.pieces.end(), [&](const Piece& piece) {
    return std::any_of(piece.factors.begin(), piece.factors.end(), [&](const Factor& factor) {
      const Atom& of = atom(factor.atom);
      return of.kind == Kind::exponential ||
             std::any_of(of.branches.begin(), of.branches.end(),
                         [&](const Branch& branch) { return mentions_exponentials(branch.body); });
    });
  });
}

bool Algebra::may_vanish(const Sum& a) {
  return std::all_of(a.pieces.begin(), a.pieces.end(), [&](const Piece& piece) {
    if (sign({a.type, {piece}}) != Sign::positive) return true;
    return std::any_of(piece.factors.begin(), piece.factors.end(), [&](const Factor& factor) {
      const Sum base = product_of_factors(a.type, {{factor.atom, 1}});
      const Atom& of = atom(factor.atom);
      if (of.kind == Kind::exponential || factor.power < 0) return mentions_exponentials(base);
      return of.kind == Kind::group && may_vanish(of.branches[0].body);
    });
  });
}

}  // namespace axrun::verify::equality
