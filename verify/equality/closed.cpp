// One piece with what its variables allow: those that have one value are replaced, those that nothing depends
// on counted, the others get the names of their height.
#include <algorithm>

#include "verify/equality/sum_parts.h"

namespace axrun::verify::equality {

using ir::ElementType;
using Kind = Atom::Kind;

/// No variable has the name of a height, which what is made within may get as well.
bool Algebra::is_fresh(const Piece& piece) const {
  return std::none_of(piece.variables.begin(), piece.variables.end(),
                      [&](Term v) { return canonical_names_.count(v) != 0; });
}

/// How many values a variable has of which the facts `about` are all that is known, where `rest` holds: from
/// the largest of its lower bounds to the least of its upper ones, where it is known which these are and that
/// they leave none of a negative number.
std::optional<Term> Algebra::count_of(Term v, const TermList& about, const TermList& rest) {
  TermList lower, upper;
  for (const Term fact : about) {
    if (terms_.node(fact).kind != Terms::Kind::non_negative) return std::nullopt;
    const Term bound = terms_.node(fact).arguments[0];
    const LinearForm form = terms_.linear(bound);
    const auto found = form.coefficients.find(v);
    if (found == form.coefficients.end() || std::abs(found->second) != 1) return std::nullopt;
    const Term other = found->second == 1 ? terms_.subtract(v, bound) : terms_.add(bound, v);
    if (terms_.mentions(other, v)) return std::nullopt;
    (found->second == 1 ? lower : upper).push_back(other);
  }
  if (lower.empty() || upper.empty()) return std::nullopt;
  TermList facts = facts_about(lower);
  for (const TermList& more : {facts_about(upper), rest}) facts.insert(facts.end(), more.begin(), more.end());
  const auto strongest = [&](const TermList& bounds, bool largest) -> std::optional<Term> {
    for (const Term bound : bounds) {
      const bool leads = std::all_of(bounds.begin(), bounds.end(), [&](Term other) {
        return other == bound ||
               implied(facts, largest ? terms_.at_least(bound, other) : terms_.at_least(other, bound));
      });
      if (leads) return bound;
    }
    return std::nullopt;
  };
  const auto first = strongest(lower, true), last = strongest(upper, false);
  if (!first || !last) return std::nullopt;
  const Term count = terms_.add(terms_.subtract(*last, *first), terms_.integer(1));
  return implied(facts, terms_.at_least(count, terms_.integer(0))) ? std::optional(count) : std::nullopt;
}

Sum Algebra::closed(ElementType type, Piece piece) {
  sort_factors(piece.factors, atoms_);
  // A power of a sum that has become natural is multiplied out.
  for (size_t k = 0; k < piece.factors.size(); ++k) {
    const Factor factor = piece.factors[k];
    const Atom& a = atom(factor.atom);
    if (a.kind != Kind::group || factor.power.get_den() != 1 || factor.power < 0) continue;
    if (!is_fresh(piece)) return closed(type, opened(piece));  // more is bound within
    const Sum base = a.branches[0].body;
    piece.factors.erase(piece.factors.begin() + static_cast<std::ptrdiff_t>(k));
    // The rest's variables are bound around the product.
    Piece rest = piece;
    rest.variables.clear();
    rest.domain.clear();
    Sum product = closed(type, rest);
    for (int n = 0; n < factor.power; ++n) product = multiply(product, base);
    Sum sum{type, {}};
    for (const Piece& term : product.pieces) {
      Piece whole = term.variables.empty() ? term : opened(term);
      whole.variables.insert(whole.variables.begin(), piece.variables.begin(), piece.variables.end());
      whole.domain.insert(whole.domain.end(), piece.domain.begin(), piece.domain.end());
      if (normalize(whole.domain)) sum = add(sum, closed(type, std::move(whole)));
    }
    return sum;
  }
  // Variables that have one value.
  for (size_t k = 0; k < piece.variables.size(); ++k) {
    const Term v = piece.variables[k];
    for (const Term fact : piece.domain) {
      if (terms_.node(fact).kind != Terms::Kind::zero) continue;
      const Term zero = terms_.node(fact).arguments[0];
      const LinearForm form = terms_.linear(zero);
      const auto found = form.coefficients.find(v);
      if (found == form.coefficients.end() || std::abs(found->second) != 1) continue;
      const Term value = found->second == 1 ? terms_.subtract(v, zero) : terms_.add(v, zero);
      if (terms_.mentions(value, v)) continue;
      if (!is_fresh(piece)) return closed(type, opened(piece));  // more is bound within
      const std::map<Term, Term> values = {{v, value}};
      piece.variables.erase(piece.variables.begin() + static_cast<std::ptrdiff_t>(k));
      for (Term& f : piece.domain) f = simplified(terms_.substitute(f, values));
      if (!normalize(piece.domain)) return {type, {}};
      Sum value_of = number(type, piece.coefficient);
      for (const Factor& factor : piece.factors) {
        const int atom_id = substitute_atom(factor.atom, values);
        Piece one{1, {}, {}, {{atom_id, factor.power}}};
        value_of = multiply(value_of, closed(type, one));
      }
      Sum sum{type, {}};
      for (const Piece& term : value_of.pieces) {
        Piece whole = term.variables.empty() ? term : opened(term);
        whole.variables.insert(whole.variables.begin(), piece.variables.begin(), piece.variables.end());
        whole.domain.insert(whole.domain.end(), piece.domain.begin(), piece.domain.end());
        if (normalize(whole.domain)) sum = add(sum, closed(type, std::move(whole)));
      }
      return sum;
    }
  }
  // Variables that nothing depends on count.
  for (size_t k = 0; k < piece.variables.size(); ++k) {
    const Term v = piece.variables[k];
    const auto mentions = [&](const Factor& f) {
      const TermList& free = atom(f.atom).free;
      return std::binary_search(free.begin(), free.end(), v);
    };
    if (std::any_of(piece.factors.begin(), piece.factors.end(), mentions)) continue;
    TermList about, rest;
    for (const Term fact : piece.domain) (terms_.mentions(fact, v) ? about : rest).push_back(fact);
    const std::optional<Term> counted = count_of(v, about, rest);
    if (!counted) continue;
    const Term extent = *counted;
    piece.variables.erase(piece.variables.begin() + static_cast<std::ptrdiff_t>(k));
    piece.domain = rest;
    const Sum count = integer(type, extent);
    Sum sum{type, {}};
    for (const Piece& term : count.pieces) {
      Piece whole = piece;
      whole.coefficient *= term.coefficient;
      whole.factors.insert(whole.factors.end(), term.factors.begin(), term.factors.end());
      sum = add(sum, closed(type, std::move(whole)));
    }
    return sum;
  }
  if (!piece.variables.empty()) {
    int height = 0;
    for (const Factor& factor : piece.factors) height = std::max(height, atom(factor.atom).height);
    ++height;
    std::map<Term, Term> names;
    for (size_t k = 0; k < piece.variables.size(); ++k) {
      Term& v = piece.variables[k];
      const Term name = canonical(height, k, terms_.magnitude(v));
      names[v] = name;
      v = name;
    }
    for (Term& fact : piece.domain) fact = terms_.substitute(fact, names);
    if (!normalize(piece.domain)) return {type, {}};
    for (Factor& factor : piece.factors) factor.atom = substitute_atom(factor.atom, names);
    sort_factors(piece.factors, atoms_);
  }
  piece.coefficient = wrapped(type, piece.coefficient);
  Sum sum{type, {}};
  if (piece.coefficient != 0) sum.pieces.push_back(std::move(piece));
  return sum;
}

Branch Algebra::closed(Branch branch) {
  if (branch.variables.empty()) return branch;
  int height = 0;
  for (const Piece& piece : branch.body.pieces) {
    int here = 0;
    for (const Factor& factor : piece.factors) here = std::max(here, atom(factor.atom).height);
    height = std::max(height, here + (piece.variables.empty() ? 0 : 1));
  }
  ++height;
  std::map<Term, Term> names;
  for (size_t k = 0; k < branch.variables.size(); ++k) {
    Term& v = branch.variables[k];
    names[v] = canonical(height, k, terms_.magnitude(v));
    v = names[v];
  }
  for (Term& fact : branch.domain) fact = terms_.substitute(fact, names);
  normalize(branch.domain);
  branch.body = substitute(branch.body, names);
  return branch;
}

}  // namespace axrun::verify::equality
