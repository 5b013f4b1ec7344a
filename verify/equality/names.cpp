// Atoms are known by what they are made of, and bound variables by how many binders are within theirs: so
// equal values have one number wherever they are made.
#include <algorithm>

#include "ir/arithmetic.h"
#include "verify/equality/sum_parts.h"
#include "verify/unproved.h"

namespace axrun::verify::equality {

using ir::ElementType;
using Kind = Atom::Kind;

namespace {

constexpr size_t most_atoms = 20000;

}  // namespace

TermList Algebra::free_of(const Piece& piece) const {
  TermList all;
  auto* self = const_cast<Algebra*>(this);  // memoised
  for (const Term fact : piece.domain) all = united(all, self->variables_of_term(fact));
  for (const Factor& factor : piece.factors) all = united(all, atom(factor.atom).free);
  std::erase_if(all, [&](Term v) {
    return std::find(piece.variables.begin(), piece.variables.end(), v) != piece.variables.end();
  });
  return all;
}

TermList Algebra::free_of(const Sum& a) const {
  TermList all;
  for (const Piece& piece : a.pieces) all = united(all, free_of(piece));
  return all;
}

size_t Algebra::shape_of(const Piece& piece) const {
  size_t hash = piece.variables.size() * 7 + 1;
  for (const Factor& factor : piece.factors) {  // in any order
    hash += mixed(atom(factor.atom).shape, std::hash<double>{}(factor.power.get_d())) * 31;
  }
  return hash;
}

int Algebra::intern(Atom made) {
  solver_.check_time();
  size_t hash = static_cast<size_t>(made.kind) * 1000003 + static_cast<size_t>(made.number) * 101 +
                static_cast<size_t>(made.type);
  made.shape = mixed(hash, made.branches.size() * 13 + made.terms.size());
  made.free.clear();
  made.height = 0;
  for (const Term term : made.terms) {
    hash = mixed(hash, static_cast<size_t>(term.id));
    made.free = united(made.free, variables_of_term(term));
  }
  size_t shapes = 0;
  for (const Branch& branch : made.branches) {
    TermList inside = free_of(branch.body);
    for (const Term fact : branch.domain) {
      hash = mixed(hash, static_cast<size_t>(fact.id));
      inside = united(inside, variables_of_term(fact));
    }
    for (const Term v : branch.variables) hash = mixed(hash, static_cast<size_t>(v.id));
    std::erase_if(inside, [&](Term v) {
      return std::find(branch.variables.begin(), branch.variables.end(), v) != branch.variables.end();
    });
    made.free = united(made.free, inside);
    for (const Piece& piece : branch.body.pieces) {
      for (const Factor& factor : piece.factors) hash = mixed(hash, static_cast<size_t>(factor.atom));
      hash = mixed(hash, std::hash<double>{}(piece.coefficient.get_d()));
      shapes += mixed(shape_of(piece), std::hash<double>{}(std::abs(piece.coefficient.get_d())));
      for (const Term fact : piece.domain) hash = mixed(hash, static_cast<size_t>(fact.id));
    }
    for (const Piece& piece : branch.body.pieces) {
      int height = piece.variables.empty() ? 0 : 1;
      for (const Factor& factor : piece.factors)
        height = std::max(height, atom(factor.atom).height + (piece.variables.empty() ? 0 : 1));
      made.height = std::max(made.height, height);
    }
  }
  const bool binds = std::any_of(made.branches.begin(), made.branches.end(),
                                 [](const Branch& branch) { return !branch.variables.empty(); });
  if (binds) ++made.height;
  made.shape = mixed(made.shape, shapes);
  const auto [first, last] = known_.equal_range(hash);
  for (auto known = first; known != last; ++known) {
    const Atom& a = atom(known->second);
    if (a.kind == made.kind && a.type == made.type && a.number == made.number && a.terms == made.terms &&
        a.branches == made.branches)
      return known->second;
  }
  if (atoms_.size() > most_atoms) throw Unproved{"the values are too large to compare"};
  const int id = static_cast<int>(atoms_.size());
  known_.emplace(hash, id);
  atoms_.push_back(std::move(made));
  return id;
}

Term Algebra::canonical(int height, size_t position, double magnitude) {
  const auto key = std::make_tuple(height, position, magnitude);
  const auto found = canonical_.find(key);
  if (found != canonical_.end()) return found->second;
  const Term made = canonical_[key] = terms_.variable("b", magnitude);
  canonical_names_.insert(made);
  return made;
}

Branch Algebra::opened(const Branch& branch) {
  std::map<Term, Term> names;
  Branch made;
  for (const Term v : branch.variables) {
    made.variables.push_back(terms_.variable("k", terms_.magnitude(v)));
    names[v] = made.variables.back();
  }
  for (const Term fact : branch.domain) made.domain.push_back(simplified(terms_.substitute(fact, names)));
  for (const Term v : made.variables) {
    for (const Term fact : made.domain) {
      if (terms_.mentions(fact, v)) ranges_[v].push_back(fact);
    }
  }
  normalize(made.domain);
  made.body = names.empty() ? branch.body : substitute(branch.body, names);
  return made;
}

Piece Algebra::opened(const Piece& piece) {
  std::map<Term, Term> names;
  Piece made;
  made.coefficient = piece.coefficient;
  for (const Term v : piece.variables) {
    made.variables.push_back(terms_.variable("k", terms_.magnitude(v)));
    names[v] = made.variables.back();
  }
  for (const Term fact : piece.domain) made.domain.push_back(terms_.substitute(fact, names));
  for (const Term v : made.variables) {
    for (const Term fact : made.domain) {
      if (terms_.mentions(fact, v)) ranges_[v].push_back(fact);
    }
  }
  normalize(made.domain);
  for (const Factor& factor : piece.factors)
    made.factors.push_back({substitute_atom(factor.atom, names), factor.power});
  sort_factors(made.factors, atoms_);
  return made;
}

Branch Algebra::substitute(const Branch& a, const std::map<Term, Term>& values) {
  Branch made;
  made.variables = a.variables;
  for (const Term fact : a.domain)
    made.domain.push_back(simplified(terms_.substitute(fact, values), a.domain));
  normalize(made.domain);
  made.body = substitute(a.body, values);
  return made;
}

int Algebra::substitute_atom(int id, const std::map<Term, Term>& values) {
  const TermList& free = atom(id).free;
  const bool touched = std::any_of(values.begin(), values.end(), [&](const auto& entry) {
    return std::binary_search(free.begin(), free.end(), entry.first);
  });
  if (!touched) return id;
  const auto key = std::make_pair(id, values);
  const auto found = substituted_.find(key);
  if (found != substituted_.end()) return found->second;
  Atom made = atom(id);
  for (Term& term : made.terms) term = simplified(terms_.substitute(term, values));
  for (Branch& branch : made.branches) branch = substitute(branch, values);
  return substituted_[key] = intern(std::move(made));
}

Sum Algebra::substitute(const Sum& a, const std::map<Term, Term>& values) {
  Sum sum{a.type, {}};
  for (const Piece& term : a.pieces) {
    Piece piece = term;
    for (Term& fact : piece.domain) fact = simplified(terms_.substitute(fact, values), term.domain);
    if (!normalize(piece.domain)) continue;
    std::vector<Factor> kept;
    std::vector<Sum> integers;  // which may be sums now
    for (const Factor& factor : piece.factors) {
      const int made = substitute_atom(factor.atom, values);
      if (made == factor.atom || atom(made).kind != Kind::integer || factor.power.get_den() != 1 ||
          factor.power < 0) {
        kept.push_back({made, factor.power});
        continue;
      }
      for (int n = 0; n < factor.power; ++n) integers.push_back(integer(a.type, atom(made).terms[0]));
    }
    piece.factors = std::move(kept);
    sort_factors(piece.factors, atoms_);
    if (integers.empty()) {
      put(sum.pieces, std::move(piece), a.type);
      continue;
    }
    // Only names are free here: the integers' do not meet those that the piece binds.
    std::vector<Piece> products = {piece};
    for (const Sum& factor : integers) {
      std::vector<Piece> next;
      for (const Piece& left : products) {
        for (const Piece& right : factor.pieces) {
          next.push_back(left);
          next.back().coefficient *= right.coefficient;
          next.back().factors.insert(next.back().factors.end(), right.factors.begin(), right.factors.end());
          sort_factors(next.back().factors, atoms_);
        }
      }
      products = std::move(next);
    }
    for (Piece& product : products) put(sum.pieces, std::move(product), a.type);
  }
  return sum;
}

std::string Algebra::text_of_atom(int id, int depth) const {
  const Atom& a = atom(id);
  constexpr const char* names[] = {"in", "integer", "infinity", "exp", "", "step", "max", "reduce", ""};
  std::string out = names[static_cast<size_t>(a.kind)];
  if (a.kind == Kind::call) out = std::string(ir::name_of(static_cast<ir::ScalarOp>(a.number)));
  if (a.kind == Kind::load) out += std::to_string(a.number);
  out += "(";
  for (const Term term : a.terms) out += terms_.text(term) + ", ";
  for (const Branch& branch : a.branches) {
    out += text(branch.body, depth - 1);
    for (const Term fact : branch.domain) out += " | " + terms_.text(fact);
    out += "; ";
  }
  return out + ")";
}

std::string Algebra::text(const Sum& a, int depth) const {
  if (depth == 0) return "...";
  std::string out;
  for (const Piece& piece : a.pieces) {
    out += (out.empty() ? "" : " + ") + piece.coefficient.get_str();
    for (const Factor& factor : piece.factors) {
      out += " * " + text_of_atom(factor.atom, depth);
      if (factor.power != 1) out += "^" + factor.power.get_str();
    }
    if (!piece.variables.empty()) out += " over " + std::to_string(piece.variables.size());
    for (const Term fact : piece.domain) out += " | " + terms_.text(fact);
  }
  return out.empty() ? "0" : out;
}

}  // namespace axrun::verify::equality
