// Differences with a maximum over what they are taken from: what makes a softmax safe.
#include <algorithm>

#include "verify/equality/same.h"
#include "verify/loop_nest.h"

namespace axrun::verify::equality {

using Kind = Atom::Kind;

std::optional<Same::Excess> Same::excess(const Sum& a) {
  for (const Piece& piece : a.pieces) {
    if (!piece.variables.empty() || piece.coefficient >= 0) continue;
    for (const Factor& factor : piece.factors) {
      const Atom& atom = algebra_.atom(factor.atom);
      if (atom.kind != Kind::maximum || factor.power != 1) continue;
      // What multiplies the maximum multiplies the rest.
      std::vector<Factor> scale;
      bool positive = true;
      for (const Factor& other : piece.factors) {
        if (other.atom == factor.atom) continue;
        positive = positive && algebra_.sign_of_power(other) == Algebra::Sign::positive;
        scale.push_back({other.atom, -other.power});
      }
      if (!positive) continue;
      Excess found{{a.type, {}}, atom.branches};
      for (Piece rest : a.pieces) {
        if (rest == piece) continue;
        rest.coefficient /= -piece.coefficient;
        rest.factors.insert(rest.factors.end(), scale.begin(), scale.end());
        found.rest = algebra_.add(found.rest, algebra_.closed(a.type, std::move(rest)));
      }
      return found;
    }
  }
  return std::nullopt;
}

bool Same::below_its_maximum(const TermList& facts, const Sum& a) {
  const auto found = excess(a);
  return found && covered(facts, {{}, {}, found->rest}, found->branches);
}

bool Same::holds_its_maximum(const TermList& facts, const Sum& a) {
  if (a.pieces.size() != 1 || a.pieces[0].coefficient < 1 || a.pieces[0].variables.empty()) return false;
  const Piece piece = algebra_.opened(a.pieces[0]);
  Sum exponent{a.type, {}};
  for (const Factor& factor : piece.factors) {
    const Atom& atom = algebra_.atom(factor.atom);
    if (atom.kind != Kind::exponential) return false;
    exponent = algebra_.add(exponent, algebra_.scaled(atom.branches[0].body, factor.power));
  }
  const auto found = excess(exponent);
  if (!found) return false;
  const Branch terms{piece.variables, piece.domain, found->rest};
  return std::all_of(found->branches.begin(), found->branches.end(),
                     [&](const Branch& branch) { return covered(facts, branch, {terms}); });
}

}  // namespace axrun::verify::equality
