#include "verify/equality/sum.h"

#include <algorithm>

#include "ir/arithmetic.h"
#include "ir/lasting.h"
#include "verify/equality/sum_parts.h"
#include "verify/unproved.h"

namespace axrun::verify::equality {

using ir::ElementType;
using Kind = Atom::Kind;

namespace {

constexpr size_t most_pieces = 200;

bool idempotent(const Atom& atom) {
  return atom.kind == Kind::step || (atom.type == ElementType::boolean && atom.kind != Kind::integer);
}

}  // namespace

Rational wrapped(ElementType type, const Rational& value) {
  if (!ir::is_integer(type)) return value;
  mpz_class modulus = mpz_class(1) << static_cast<unsigned>(ir::bits_of(type)), rest;
  mpz_fdiv_r(rest.get_mpz_t(), mpz_class(value).get_mpz_t(), modulus.get_mpz_t());
  if (rest * 2 >= modulus) rest -= modulus;
  return rest;
}

void sort_factors(std::vector<Factor>& factors, const std::deque<Atom>& atoms) {
  std::sort(factors.begin(), factors.end(), [](const Factor& a, const Factor& b) { return a.atom < b.atom; });
  std::vector<Factor> merged;
  for (const Factor& factor : factors) {
    if (!merged.empty() && merged.back().atom == factor.atom) {
      merged.back().power += factor.power;
    } else {
      merged.push_back(factor);
    }
  }
  std::erase_if(merged, [](const Factor& factor) { return factor.power == 0; });
  for (Factor& factor : merged) {
    if (factor.power > 1 && idempotent(atoms[static_cast<size_t>(factor.atom)])) factor.power = 1;
  }
  factors = std::move(merged);
}

Term Algebra::variable(const std::string& name, Term extent) {
  const Term made = terms_.variable(name, terms_.magnitude(extent));
  ranges_[made] = {terms_.at_least(made, terms_.integer(0)), terms_.less(made, extent)};
  return made;
}

const TermList& Algebra::range_of(Term variable) { return ranges_[variable]; }

const TermList& Algebra::variables_of_term(Term term) {
  const auto found = variables_of_.find(term);
  if (found != variables_of_.end()) return found->second;
  TermList all;
  const Terms::Node node = terms_.node(term);
  if (node.kind == Terms::Kind::variable) all = {term};
  for (const auto& entry : node.linear.coefficients) all = united(all, variables_of_term(entry.first));
  for (const Term argument : node.arguments) all = united(all, variables_of_term(argument));
  return variables_of_[term] = all;
}

TermList Algebra::facts_about(const TermList& about) {
  TermList mentioned;
  for (const Term term : about) mentioned = united(mentioned, variables_of_term(term));
  TermList facts = facts_;
  for (const Term variable : mentioned) {
    const auto range = ranges_.find(variable);
    if (range == ranges_.end()) continue;
    facts.insert(facts.end(), range->second.begin(), range->second.end());
  }
  return facts;
}

// --- Leaves.

Sum Algebra::number(ElementType type, const Rational& value) {
  Sum sum{type, {}};
  const Rational kept = wrapped(type, value);
  if (kept != 0) sum.pieces.push_back({kept, {}, {}, {}});
  return sum;
}

Sum Algebra::of_atom(Atom atom) {
  const ElementType type = atom.type;
  Piece piece;
  piece.factors.push_back({intern(std::move(atom)), 1});
  return {type, {piece}};
}

Sum Algebra::integer(ElementType type, Term term) {
  const LinearForm form = terms_.linear(term);
  Sum sum = number(type, Rational(mpz_class(static_cast<long>(form.constant))));
  for (const auto& [part, coefficient] : form.coefficients) {
    const Terms::Node node = terms_.node(part);
    Sum value;
    if (node.kind == Terms::Kind::product) {
      value = multiply(integer(type, node.arguments[0]), integer(type, node.arguments[1]));
    } else {
      Atom atom;
      atom.kind = Kind::integer;
      atom.type = ElementType::i64;  // one for all types
      atom.terms = {part};
      value = of_atom(std::move(atom));
      value.type = type;
    }
    sum = add(sum, scaled(value, Rational(mpz_class(static_cast<long>(coefficient)))));
  }
  return sum;
}

Sum Algebra::infinity(ElementType type, bool positive) {
  Atom atom;
  atom.kind = Kind::infinity;
  atom.type = type;
  return scaled(of_atom(std::move(atom)), positive ? 1 : -1);
}

Sum Algebra::truth(Term condition) { return guarded(number(ElementType::boolean, 1), condition); }

// --- The ring.

bool Algebra::normalize(TermList& domain) const {
  TermList flat;
  for (const Term fact : domain) {
    const Terms::Node& node = terms_.node(fact);
    if (node.kind == Terms::Kind::all) {
      flat.insert(flat.end(), node.arguments.begin(), node.arguments.end());
    } else if (node.kind == Terms::Kind::truth) {
      if (node.linear.constant == 0) return false;
    } else {
      flat.push_back(fact);
    }
  }
  std::sort(flat.begin(), flat.end());
  flat.erase(std::unique(flat.begin(), flat.end()), flat.end());
  for (const Term fact : flat) {
    if (std::binary_search(flat.begin(), flat.end(), terms_.negation(fact))) return false;
  }
  domain = std::move(flat);
  return true;
}

void Algebra::put(std::vector<Piece>& pieces, Piece piece, ElementType type) const {
  for (Piece& known : pieces) {
    if (known.variables != piece.variables || known.domain != piece.domain || known.factors != piece.factors)
      continue;
    known.coefficient = wrapped(type, known.coefficient + piece.coefficient);
    if (known.coefficient == 0) pieces.erase(pieces.begin() + (&known - pieces.data()));
    return;
  }
  piece.coefficient = wrapped(type, piece.coefficient);
  if (piece.coefficient != 0) pieces.push_back(std::move(piece));
  if (pieces.size() > most_pieces) throw Unproved{"a sum has too many terms"};
}

Sum Algebra::add(const Sum& a, const Sum& b) {
  Sum sum = a;
  for (const Piece& piece : b.pieces) put(sum.pieces, piece, a.type);
  return sum;
}

Sum Algebra::scaled(const Sum& a, const Rational& by) {
  Sum sum{a.type, {}};
  for (Piece piece : a.pieces) {
    piece.coefficient = wrapped(a.type, piece.coefficient * by);
    if (piece.coefficient != 0) sum.pieces.push_back(std::move(piece));
  }
  return sum;
}

Sum Algebra::typed(Sum a, ElementType type) {
  a.type = type;
  if (ir::is_integer(type)) return scaled(a, 1);
  return a;
}

Sum Algebra::product(ElementType type, const Piece& a, const Piece& b) {
  Piece x = a.variables.empty() ? a : opened(a), y = b.variables.empty() ? b : opened(b);
  x.coefficient *= y.coefficient;
  x.variables.insert(x.variables.end(), y.variables.begin(), y.variables.end());
  const bool conditions =
      !a.domain.empty() && !b.domain.empty() && (a.variables.empty() || b.variables.empty());
  x.domain.insert(x.domain.end(), y.domain.begin(), y.domain.end());
  if (!normalize(x.domain)) return {type, {}};
  if (conditions) {
    TermList facts = facts_about(x.domain);
    facts.insert(facts.end(), x.domain.begin(), x.domain.end());
    if (impossible(facts)) return {type, {}};
  }
  x.factors.insert(x.factors.end(), y.factors.begin(), y.factors.end());
  return closed(type, std::move(x));
}

Sum Algebra::multiply(const Sum& a, const Sum& b) {
  Sum sum{a.type, {}};
  if (a.pieces.size() * b.pieces.size() > 4 * most_pieces) throw Unproved{"a product has too many terms"};
  for (const Piece& x : a.pieces) {
    for (const Piece& y : b.pieces) sum = add(sum, product(a.type, x, y));
  }
  return sum;
}

Sum Algebra::guarded(const Sum& a, Term condition) {
  TermList domain = {condition};
  if (!normalize(domain)) return {a.type, {}};
  if (domain.empty()) return a;
  const TermList facts = facts_about(domain);
  if (implied(facts, terms_.all(domain))) return a;
  TermList with = facts;
  with.insert(with.end(), domain.begin(), domain.end());
  if (impossible(with)) return {a.type, {}};
  const Piece guard{1, {}, domain, {}};
  Sum sum{a.type, {}};
  for (const Piece& piece : a.pieces) sum = add(sum, product(a.type, piece, guard));
  return sum;
}

Sum Algebra::over(const TermList& variables, const Sum& body) {
  Sum sum{body.type, {}};
  for (const Piece& term : body.pieces) {
    Piece piece = term.variables.empty() ? term : opened(term);
    piece.variables.insert(piece.variables.begin(), variables.begin(), variables.end());
    for (const Term variable : variables) {
      const TermList& range = range_of(variable);
      piece.domain.insert(piece.domain.end(), range.begin(), range.end());
    }
    if (normalize(piece.domain)) sum = add(sum, closed(body.type, std::move(piece)));
  }
  return sum;
}

const Rational* Algebra::constant(const Sum& a) const {
  static const auto& zero = lasting(Rational(0));
  if (a.pieces.empty()) return &zero;
  const Piece& piece = a.pieces[0];
  const bool plain = piece.variables.empty() && piece.domain.empty() && piece.factors.empty();
  return a.pieces.size() == 1 && plain ? &piece.coefficient : nullptr;
}

}  // namespace axrun::verify::equality
