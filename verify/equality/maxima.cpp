// Maxima over branches, of which there may be many: what all have in common leaves, as terms and as positive
// factors.
#include <algorithm>

#include "verify/equality/sum.h"
#include "verify/unproved.h"

namespace axrun::verify::equality {

using ir::ElementType;
using Kind = Atom::Kind;

namespace {

constexpr size_t most_branches = 64;

}  // namespace

/// Maxima of maxima become one, conditions domains, and what is -infinity nothing.
std::vector<Branch> Algebra::flattened(std::vector<Branch> open) {
  std::vector<Branch> done;
  while (!open.empty()) {
    const Branch branch = std::move(open.back());
    open.pop_back();
    if (done.size() + open.size() > most_branches) throw Unproved{"a maximum has too many cases"};
    const auto all = cases({branch.body});
    if (all.size() != 1 || !all[0].first.empty()) {
      for (const auto& [conditions, here] : all) {
        Branch one = branch;
        one.domain.insert(one.domain.end(), conditions.begin(), conditions.end());
        one.body = here[0];
        if (normalize(one.domain)) open.push_back(std::move(one));
      }
      continue;
    }
    bool nothing = false, nested = false;
    for (const Piece& piece : branch.body.pieces) {
      const bool single = piece.variables.empty() && piece.factors.size() == 1 && piece.factors[0].power == 1;
      if (!single) continue;
      const Atom& inner = atom(piece.factors[0].atom);
      if (inner.kind == Kind::infinity && piece.coefficient < 0) nothing = true;
      if (inner.kind != Kind::maximum || piece.coefficient < 0 || nested || nothing) continue;
      nested = true;
      Sum rest = branch.body;
      std::erase(rest.pieces, piece);
      for (const Branch& below : inner.branches) {
        const Branch one = opened(below);
        Branch merged = branch;
        merged.variables.insert(merged.variables.end(), one.variables.begin(), one.variables.end());
        merged.domain.insert(merged.domain.end(), one.domain.begin(), one.domain.end());
        merged.body = add(scaled(one.body, piece.coefficient), rest);
        if (normalize(merged.domain)) open.push_back(std::move(merged));
      }
    }
    if (!nothing && !nested) done.push_back(branch);
  }
  std::reverse(done.begin(), done.end());
  return done;
}

Sum Algebra::maximum(ElementType type, std::vector<Branch> given) {
  std::vector<Branch> branches = flattened(std::move(given));
  if (branches.empty()) return infinity(type, false);
  // Variables that nothing depends on say nothing where there is a value for them.
  for (Branch& branch : branches) {
    for (size_t k = 0; k < branch.variables.size();) {
      const Term v = branch.variables[k];
      const TermList free = free_of(branch.body);
      TermList about, rest;
      for (const Term fact : branch.domain) (terms_.mentions(fact, v) ? about : rest).push_back(fact);
      const Term exists = terms_.substitute(terms_.all(about), {{v, terms_.integer(0)}});
      if (std::binary_search(free.begin(), free.end(), v) || !implied(facts_about({exists}), exists)) {
        ++k;
        continue;
      }
      branch.variables.erase(branch.variables.begin() + static_cast<std::ptrdiff_t>(k));
      branch.domain = rest;
    }
  }
  Sum outside{type, {}};
  std::vector<Piece> common;
  const auto bound = [](const Branch& branch, const TermList& free) {
    return std::any_of(branch.variables.begin(), branch.variables.end(),
                       [&](Term v) { return std::binary_search(free.begin(), free.end(), v); });
  };
  for (const Piece& piece : branches[0].body.pieces) {
    const bool everywhere = std::all_of(branches.begin(), branches.end(), [&](const Branch& branch) {
      const auto& pieces = branch.body.pieces;
      return std::find(pieces.begin(), pieces.end(), piece) != pieces.end() && !bound(branch, free_of(piece));
    });
    if (everywhere) common.push_back(piece);
  }
  for (const Piece& piece : common) {
    outside = add(outside, {type, {piece}});
    for (Branch& branch : branches) std::erase(branch.body.pieces, piece);
  }
  // Positive factors of all terms of all branches.
  Sum everything{type, {}};
  for (size_t k = 0; k < branches.size(); ++k) {
    for (Piece piece : branches[k].body.pieces) {
      piece.variables.insert(piece.variables.end(), branches[k].variables.begin(),
                             branches[k].variables.end());
      everything.pieces.push_back(std::move(piece));
    }
  }
  Sum scale = number(type, 1);
  if (!everything.pieces.empty()) {
    // Only its factor is of interest.
    mpz_class top = 0, bottom = 1;
    std::map<int, Rational> powers;
    bool first = true;
    for (const Piece& piece : everything.pieces) {
      top = gcd(top, mpz_class(piece.coefficient.get_num()));
      bottom = lcm(bottom, mpz_class(piece.coefficient.get_den()));
      std::map<int, Rational> here;
      for (const Factor& factor : piece.factors) {
        const TermList& free = atom(factor.atom).free;
        const bool inside = std::any_of(piece.variables.begin(), piece.variables.end(), [&](Term v) {
          return std::binary_search(free.begin(), free.end(), v);
        });
        if (!inside && sign_of_power(factor) == Sign::positive) here[factor.atom] = factor.power;
      }
      for (const auto& entry : here) powers.emplace(entry.first, first ? entry.second : Rational(0));
      for (auto& [id, power] : powers) {
        const auto found = here.find(id);
        const Rational mine = found == here.end() ? Rational(0) : found->second;
        if (mine < power) power = mine;
      }
      first = false;
    }
    Rational factor(top, bottom);
    factor.canonicalize();
    std::vector<Factor> factors, inverse;
    for (const auto& [id, power] : powers) {
      if (power == 0) continue;
      factors.push_back({id, power});
      inverse.push_back({id, -power});
    }
    scale = scaled(product_of_factors(type, factors), factor);
    for (Branch& branch : branches) {
      Sum body{type, {}};
      for (Piece piece : branch.body.pieces) {
        piece.coefficient /= factor;
        piece.factors.insert(piece.factors.end(), inverse.begin(), inverse.end());
        body = add(body, closed(type, std::move(piece)));
      }
      branch.body = std::move(body);
    }
  }
  std::vector<Branch> kept;
  for (const Branch& branch : branches) {
    Branch one = closed(branch);
    if (std::find(kept.begin(), kept.end(), one) == kept.end()) kept.push_back(std::move(one));
  }
  if (kept.size() == 1 && kept[0].variables.empty() && kept[0].domain.empty())
    return add(outside, multiply(scale, kept[0].body));
  // Of constants the largest.
  const Rational* most = nullptr;
  for (const Branch& branch : kept) {
    const Rational* value =
        branch.variables.empty() && branch.domain.empty() ? constant(branch.body) : nullptr;
    if (value != nullptr && (most == nullptr || *value > *most)) most = value;
  }
  if (most != nullptr) {
    const Rational largest = *most;
    std::erase_if(kept, [&](const Branch& branch) {
      const Rational* value = branch.domain.empty() ? constant(branch.body) : nullptr;
      return value != nullptr && *value < largest;
    });
    if (kept.size() == 1) return add(outside, multiply(scale, kept[0].body));
    // What is not negative is not below.
    const auto not_below = [&](const Branch& branch) {
      return branch.variables.empty() && branch.domain.empty() && constant(branch.body) == nullptr &&
             sign(add(branch.body, number(type, -largest))) != Sign::unknown;
    };
    if (std::any_of(kept.begin(), kept.end(), not_below)) {
      std::erase_if(kept, [&](const Branch& branch) { return constant(branch.body) != nullptr; });
      if (kept.size() == 1 && kept[0].variables.empty() && kept[0].domain.empty())
        return add(outside, multiply(scale, kept[0].body));
    }
  }
  Atom atom;
  atom.kind = Kind::maximum;
  atom.type = type;
  atom.branches = std::move(kept);
  return add(outside, multiply(scale, of_atom(std::move(atom))));
}

Sum Algebra::reduction(ElementType type, ir::Monoid::Kind monoid, std::vector<Branch> branches) {
  Atom atom;
  atom.kind = Kind::reduction;
  atom.type = type;
  atom.number = static_cast<int>(monoid);
  for (Branch& branch : branches) atom.branches.push_back(closed(std::move(branch)));
  return of_atom(std::move(atom));
}

}  // namespace axrun::verify::equality
