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

/// A maximum with a positive factor, in place of which each of its branches is put: the value is the largest
/// of what is returned.
std::vector<Branch> Same::alternatives(const Branch& given) {
  for (const Piece& piece : given.body.pieces) {
    if (!piece.variables.empty() || !piece.domain.empty() || piece.coefficient <= 0) continue;
    const Atom* maximum = nullptr;
    Piece scale = piece;
    scale.factors.clear();
    bool positive = true;
    for (const Factor& factor : piece.factors) {
      const Atom& atom = algebra_.atom(factor.atom);
      if (maximum == nullptr && atom.kind == Kind::maximum && factor.power == 1) {
        maximum = &atom;
        continue;
      }
      positive = positive && algebra_.sign_of_power(factor) == Algebra::Sign::positive;
      scale.factors.push_back(factor);
    }
    if (maximum == nullptr || !positive) continue;
    Sum rest{given.body.type, {}};
    for (const Piece& other : given.body.pieces)
      if (!(other == piece)) rest.pieces.push_back(other);
    std::vector<Branch> found;
    for (const Branch& closed : maximum->branches) {
      Branch branch = closed.variables.empty() ? closed : algebra_.opened(closed);
      branch.body = algebra_.add(rest, algebra_.multiply({given.body.type, {scale}}, branch.body));
      branch.variables.insert(branch.variables.end(), given.variables.begin(), given.variables.end());
      branch.domain.insert(branch.domain.end(), given.domain.begin(), given.domain.end());
      std::sort(branch.domain.begin(), branch.domain.end());
      for (Branch& deeper : alternatives(branch)) found.push_back(std::move(deeper));
    }
    return found;
  }
  return {given};
}

bool Same::below_its_maximum(const TermList& facts, const Sum& a) {
  const auto found = excess(a);
  if (!found) return false;
  const Branch whole{{}, {}, found->rest};
  if (covered(facts, whole, found->branches)) return true;
  const std::vector<Branch> parts = alternatives(whole);
  return parts.size() > 1 || !(parts[0] == whole)
             ? std::all_of(parts.begin(), parts.end(),
                           [&](const Branch& part) { return covered(facts, part, found->branches); })
             : false;
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
  const Branch whole{piece.variables, piece.domain, found->rest};
  // What is the largest of its alternatives is at least each of them.
  std::vector<Branch> terms = alternatives(whole);
  terms.push_back(whole);
  return std::all_of(found->branches.begin(), found->branches.end(),
                     [&](const Branch& branch) { return covered(facts, branch, terms); });
}

}  // namespace axrun::verify::equality
