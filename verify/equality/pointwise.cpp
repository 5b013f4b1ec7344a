// Sums over one domain, whose terms vanish together at every point of it though no two of them cancel: a sum
// of maxima and a sum of minima, sums of what is masked and of what is left.
#include <algorithm>

#include "verify/checks.h"
#include "verify/equality/digits.h"
#include "verify/equality/same.h"
#include "verify/loop_nest.h"

namespace axrun::verify::equality {

/// The piece as a sum over the variables of another, where a bijection of both domains is found.
std::optional<Piece> Same::brought_to(const TermList& facts, const Piece& given, const Piece& to) {
  if (given.variables.size() != to.variables.size()) return std::nullopt;
  const Sum mine{ir::ElementType::f32, {to}}, theirs{ir::ElementType::f32, {given}};
  const TermList there_known = with(facts, given.domain), known = with(facts, to.domain);
  for (const std::map<Term, Term>& there : guesses(given.variables, theirs, to.variables, mine)) {
    std::vector<std::pair<Term, Term>> equations;
    for (const auto& [variable, value] : there) equations.emplace_back(value, variable);
    const std::map<Term, Term> back = solve_digits(terms_, to.variables, equations);
    if (back.size() != to.variables.size()) continue;
    TermList forth, home;
    for (const Term v : to.variables) home.push_back(terms_.equal(v, terms_.substitute(back.at(v), there)));
    for (const Term v : given.variables)
      forth.push_back(terms_.equal(v, terms_.substitute(there.at(v), back)));
    const bool onto = algebra_.implied(known, terms_.all(substituted(given.domain, there, known))) &&
                      algebra_.implied(there_known, terms_.all(substituted(to.domain, back, there_known))) &&
                      algebra_.implied(known, algebra_.simplified(terms_.all(home), known)) &&
                      algebra_.implied(there_known, algebra_.simplified(terms_.all(forth), there_known));
    if (!onto && checks::on("equality.pointwise_domain")) continue;
    Piece moved{given.coefficient, {}, {}, given.factors};
    for (Factor& factor : moved.factors) factor.atom = algebra_.substitute_atom(factor.atom, there);
    return moved;
  }
  return std::nullopt;
}

bool Same::zero_pointwise(const TermList& facts, ir::ElementType type, const std::vector<Piece>& pieces) {
  constexpr size_t most_pieces = 12;
  constexpr int deepest = 8;
  if (pieces.size() < 2 || pieces.size() > most_pieces || pieces[0].variables.empty() || depth_ > deepest)
    return false;
  const Piece& first = pieces[0];
  Sum body{type, {}};
  for (const Piece& piece : pieces) {
    std::optional<Piece> moved;
    if (&piece == &first) {
      moved = Piece{first.coefficient, {}, {}, first.factors};
    } else if (!piece.variables.empty()) {
      moved = brought_to(facts, piece, first);
    }
    if (!moved) return false;
    body = algebra_.add(body, algebra_.closed(type, std::move(*moved)));
  }
  depth_ += 2;
  const bool answer = vanishes(with(facts, first.domain), body);
  depth_ -= 2;
  if (answer) bijections_ += static_cast<int>(pieces.size()) - 1;
  return answer;
}

}  // namespace axrun::verify::equality
