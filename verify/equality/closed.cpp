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
    if (about.size() != 2) continue;
    const Term lower = terms_.at_least(v, terms_.integer(0));
    const Term other = about[0] == lower ? about[1] : about[0];
    if ((about[0] != lower && about[1] != lower) || terms_.node(other).kind != Terms::Kind::non_negative)
      continue;
    const Term below = terms_.node(other).arguments[0];  // extent - 1 - v
    const LinearForm form = terms_.linear(below);
    const auto found = form.coefficients.find(v);
    if (found == form.coefficients.end() || found->second != -1) continue;
    const Term extent = terms_.add(below, terms_.add(v, terms_.integer(1)));
    if (terms_.mentions(extent, v)) continue;
    TermList facts = facts_about({extent});
    facts.insert(facts.end(), rest.begin(), rest.end());
    if (!implied(facts, terms_.at_least(extent, terms_.integer(0)))) continue;
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
