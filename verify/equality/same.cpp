#include "verify/equality/same.h"

#include <algorithm>

#include "verify/checks.h"
#include "verify/equality/digits.h"
#include "verify/loop_nest.h"
#include "verify/unproved.h"

namespace axrun::verify::equality {

using Kind = Atom::Kind;

namespace {

constexpr int most_steps = 4000, deepest = 24;

}  // namespace

TermList Same::substituted(const TermList& list, const std::map<Term, Term>& values, const TermList& extra) {
  TermList made;
  for (const Term term : list) made.push_back(algebra_.simplified(terms_.substitute(term, values), extra));
  return made;
}

bool Same::same(const TermList& facts, const Sum& a, const Sum& b) {
  if (a == b) return true;
  if (++steps_ > most_steps) throw Unproved{"the values are too large to compare"};
  solver_.check_time();
  if (depth_ > deepest) return no("values are nested too deeply");
  ++depth_;
  const bool answer = vanishes(facts, algebra_.subtract(a, b));
  --depth_;
  return answer;
}

bool Same::vanishes(const TermList& facts, const Sum& difference) {
  std::vector<Piece> pieces = difference.pieces;
  if (pieces.empty()) return true;
  for (Piece& piece : pieces) {
    if (!piece.variables.empty()) piece = algebra_.opened(piece);
  }
  int steps = 0;
  bool again = true;
  while (!pieces.empty() && again) {
    if (++steps > 200) return no("terms cancel in too many steps");
    again = false;
    std::erase_if(pieces, [&](const Piece& piece) {
      return !piece.domain.empty() && algebra_.impossible(with(facts, piece.domain));
    });
    for (const bool opposite : {true, false}) {
      for (size_t k = 0; k < pieces.size() && !again; ++k) again = cancel(facts, pieces, k, opposite);
    }
  }
  if (pieces.empty()) return true;
  const bool scalars =
      std::all_of(pieces.begin(), pieces.end(), [](const Piece& piece) { return piece.variables.empty(); });
  const bool real = ir::is_float(difference.type) || difference.type == ir::ElementType::boolean;
  if (scalars && real && zero_by_cases(facts, {difference.type, pieces})) return true;
  if (scalars && zero_by_bits(facts, {difference.type, pieces})) return true;
  if (!scalars && zero_pointwise(facts, difference.type, pieces)) return true;
  if (!scalars && depth_ < 6) {
    // Multiplied by what does not depend on variables, and is divided by.
    std::map<int, int> chosen;
    Sum open{difference.type, {}};
    for (const Piece& piece : pieces) open.pieces.push_back(piece);
    const Sum whole = without_denominators(unified(facts, open, chosen));
    if (whole.pieces.size() < 40 && !(whole.pieces == open.pieces)) {
      bool divides = false;
      for (const Piece& piece : open.pieces) {
        for (const Factor& factor : piece.factors)
          divides = divides || (factor.power < 0 && factor.power.get_den() == 1 && is_outside(piece, factor));
      }
      depth_ += 2;
      const bool answer = divides && vanishes(facts, whole);
      depth_ -= 2;
      if (answer) return true;
    }
  }
  return !checks::on("equality.counterpart") ||
         no("a term finds no counterpart: " + algebra_.text({difference.type, {pieces[0]}}));
}

/// The factor mentions nothing that the piece sums over.
bool Same::is_outside(const Piece& piece, const Factor& factor) const {
  const TermList& free = algebra_.atom(factor.atom).free;
  return std::none_of(piece.variables.begin(), piece.variables.end(),
                      [&](Term v) { return std::binary_search(free.begin(), free.end(), v); });
}

/// One piece against any other.
bool Same::cancel(const TermList& facts, std::vector<Piece>& pieces, size_t at, bool opposite) {
  const Piece p = pieces[at];
  for (size_t k = 0; k < pieces.size(); ++k) {
    if (k == at) continue;
    const Piece q = pieces[k];
    if ((p.coefficient + q.coefficient == 0) != opposite) continue;
    if (p.factors.size() != q.factors.size()) continue;
    Match match;
    if (!matches(facts, p, q, match)) continue;
    // What is left of either, and of both where they meet.
    const TermList mine = with(facts, p.domain), theirs = with(facts, q.domain);
    const TermList there = substituted(q.domain, match.there, mine);
    TermList back = substituted(p.domain, match.back, theirs);
    for (const auto& [variable, value] : match.there) {
      const Term again = algebra_.simplified(terms_.substitute(value, match.back), theirs);
      back.push_back(algebra_.simplified(terms_.equal(variable, again), theirs));
    }
    const auto rest = [&](const Piece& whole, const TermList& known,
                          const TermList& met) -> std::optional<Piece> {
      TermList open;
      for (const Term fact : met) {
        if (!algebra_.implied(known, fact)) open.push_back(fact);
      }
      if (open.empty() || !checks::on("equality.whole_domain")) return std::nullopt;
      Piece left = whole;
      left.domain.push_back(terms_.negation(terms_.all(open)));
      std::sort(left.domain.begin(), left.domain.end());
      return left;
    };
    const auto p_rest = rest(p, mine, there);
    const auto q_rest = rest(q, theirs, back);
    if (!opposite && (p_rest || q_rest)) continue;  // no progress
    std::vector<Piece> left;
    for (size_t j = 0; j < pieces.size(); ++j) {
      if (j != at && j != k) left.push_back(pieces[j]);
    }
    if (p_rest) left.push_back(*p_rest);
    if (q_rest) left.push_back(*q_rest);
    if (!opposite) {
      left.push_back(p);
      left.back().coefficient += q.coefficient;
    }
    pieces = std::move(left);
    if (!match.there.empty()) ++bijections_;
    return true;
  }
  return false;
}

bool Same::matches(const TermList& facts, const Piece& p, const Piece& q, Match& match) {
  if (algebra_.shape_of(p) != algebra_.shape_of(q) && p.variables.size() == q.variables.size()) {
    // Shapes ignore names and indices: what holds nothing else is equal to what has the same shape.
    bool bare = true;
    for (const Piece* piece : {&p, &q}) {
      for (const Factor& factor : piece->factors) bare = bare && algebra_.atom(factor.atom).branches.empty();
    }
    if (bare) return false;
  }
  const TermList mine = with(facts, p.domain);
  std::vector<std::map<Term, Term>> candidates = {{}};
  if (!q.variables.empty()) {
    const Sum left{ir::ElementType::f32, {q}}, right{ir::ElementType::f32, {p}};
    candidates = guesses(q.variables, left, p.variables, right);
  }
  for (const std::map<Term, Term>& there : candidates) {
    const TermList both = with(mine, substituted(q.domain, there, mine));
    if (std::find(both.begin(), both.end(), terms_.truth(false)) != both.end()) continue;
    if (algebra_.impossible(both)) continue;
    if (!same_factors(both, p, q, there)) continue;
    std::vector<std::pair<Term, Term>> equations;
    for (const auto& [variable, value] : there) equations.emplace_back(value, variable);
    std::map<Term, Term> back = solve_digits(terms_, p.variables, equations);
    TermList returned;
    for (const Term v : p.variables) {
      const Term value = back.emplace(v, terms_.integer(0)).first->second;
      returned.push_back(algebra_.simplified(terms_.substitute(value, there), both));
    }
    if (!algebra_.implied(both, terms_.same(p.variables, returned)) && checks::on("equality.term_twice")) {
      no("a term perhaps stands for several");
      continue;
    }
    match = {there, back};
    return true;
  }
  return false;
}

bool Same::same_factors(const TermList& facts, const Piece& p, const Piece& q,
                        const std::map<Term, Term>& there) {
  std::vector<bool> used(p.factors.size());
  for (const Factor& factor : q.factors) {
    const int other = algebra_.substitute_atom(factor.atom, there);
    bool found = false;
    for (const bool deep : {false, true}) {
      for (size_t k = 0; k < p.factors.size() && !found; ++k) {
        if (used[k] || p.factors[k].power != factor.power) continue;
        found = deep ? same_atom(facts, p.factors[k].atom, other) : p.factors[k].atom == other;
        if (found) used[k] = true;
      }
    }
    if (!found) return false;
  }
  return true;
}

bool Same::same_atom(const TermList& facts, int first, int second) {
  if (first == second) return true;
  const Atom &a = algebra_.atom(first), &b = algebra_.atom(second);
  if (a.kind != b.kind || a.type != b.type || a.number != b.number || a.terms.size() != b.terms.size())
    return false;
  const auto key = std::make_tuple(first, second, facts);
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;
  bool answer = true;
  for (size_t k = 0; k < a.terms.size() && answer; ++k) {
    const Term equal = algebra_.simplified(terms_.equal(a.terms[k], b.terms[k]), facts);
    answer = algebra_.implied(facts, equal) || !checks::on("equality.index") ||
             no("an input is read at different indices");
  }
  answer = answer && same_branches(facts, a, b);
  return known_[key] = answer;
}

bool Same::same_branches(const TermList& facts, const Atom& a, const Atom& b) {
  if (a.kind == Kind::maximum) {
    for (const bool first : {true, false}) {
      const Atom &one = first ? a : b, &other = first ? b : a;
      for (const Branch& branch : one.branches) {
        if (!covered(facts, branch, other.branches) && checks::on("equality.maximum"))
          return no("a maximum is of other values");
      }
    }
    return true;
  }
  if (a.kind == Kind::reduction) return paired(facts, a, b);
  if (a.branches.size() != b.branches.size()) return false;
  const auto bodies = [&](bool swapped) {
    for (size_t k = 0; k < a.branches.size(); ++k) {
      const Sum &one = a.branches[k].body, &other = b.branches[swapped ? 1 - k : k].body;
      // The same sum in another type is another number where it wraps.
      const bool same_type = one.type == other.type || (ir::is_float(one.type) && ir::is_float(other.type));
      if (!same_type && checks::on("equality.body_type")) return false;
      if (!same(facts, one, other)) return false;
    }
    return true;
  };
  if (bodies(false)) return true;
  const auto op = static_cast<ir::ScalarOp>(a.number);
  const bool commutes =
      a.kind == Kind::call && a.branches.size() == 2 &&
      (op == ir::ScalarOp::min || op == ir::ScalarOp::max || op == ir::ScalarOp::equal ||
       op == ir::ScalarOp::bit_and || op == ir::ScalarOp::bit_or || op == ir::ScalarOp::bit_xor);
  return commutes && bodies(true);
}

/// Every value of the branch is one of the others' values.
bool Same::covered(const TermList& facts, const Branch& given, const std::vector<Branch>& others) {
  const Branch branch = given.variables.empty() ? given : algebra_.opened(given);
  TermList left = with(facts, branch.domain);
  if (algebra_.impossible(left)) return true;
  for (const Branch& candidate : others) {
    const Branch other = candidate.variables.empty() ? candidate : algebra_.opened(candidate);
    std::vector<std::map<Term, Term>> maps = {{}};
    if (!other.variables.empty()) maps = guesses(other.variables, other.body, branch.variables, branch.body);
    for (const std::map<Term, Term>& there : maps) {
      const TermList domain = substituted(other.domain, there, left);
      const TermList both = with(left, domain);
      if (algebra_.impossible(both)) continue;
      if (!same(both, branch.body, algebra_.substitute(other.body, there))) continue;
      if (!there.empty()) ++bijections_;
      left.push_back(terms_.negation(terms_.all(domain)));
      if (algebra_.impossible(left)) return true;
      break;
    }
  }
  return false;
}

/// Branches of reductions that count how often there is a value: one for one, over equal domains.
bool Same::paired(const TermList& facts, const Atom& a, const Atom& b) {
  if (a.branches.size() != b.branches.size()) return no("reductions differ");
  std::vector<bool> used(b.branches.size());
  for (const Branch& given : a.branches) {
    const Branch branch = given.variables.empty() ? given : algebra_.opened(given);
    bool found = false;
    for (size_t k = 0; k < b.branches.size() && !found; ++k) {
      if (used[k]) continue;
      const Branch other = b.branches[k].variables.empty() ? b.branches[k] : algebra_.opened(b.branches[k]);
      if (other.variables.size() != branch.variables.size()) continue;
      std::vector<std::map<Term, Term>> maps = {{}};
      if (!other.variables.empty())
        maps = guesses(other.variables, other.body, branch.variables, branch.body);
      for (const std::map<Term, Term>& there : maps) {
        const TermList mine = with(facts, branch.domain), theirs = with(facts, other.domain);
        std::vector<std::pair<Term, Term>> equations;
        for (const auto& [variable, value] : there) equations.emplace_back(value, variable);
        std::map<Term, Term> back = solve_digits(terms_, branch.variables, equations);
        if (back.size() != branch.variables.size()) continue;
        TermList forth, home;
        for (const Term v : branch.variables)
          home.push_back(terms_.equal(v, terms_.substitute(back.at(v), there)));
        for (const Term v : other.variables)
          forth.push_back(terms_.equal(v, terms_.substitute(there.at(v), back)));
        const bool onto = algebra_.implied(mine, terms_.all(substituted(other.domain, there, mine))) &&
                          algebra_.implied(theirs, terms_.all(substituted(branch.domain, back, theirs))) &&
                          algebra_.implied(mine, algebra_.simplified(terms_.all(home), mine)) &&
                          algebra_.implied(theirs, algebra_.simplified(terms_.all(forth), theirs));
        if (!onto && checks::on("equality.product_terms")) continue;
        if (!same(mine, branch.body, algebra_.substitute(other.body, there))) continue;
        ++bijections_;
        used[k] = found = true;
        break;
      }
    }
    if (!found) return no("reductions differ");
  }
  return true;
}

// --- Guesses.

void Same::reads(const Sum& a, std::vector<Read>& found, std::set<int>& visited) {
  for (const Piece& piece : a.pieces) {
    for (const Factor& factor : piece.factors) {
      if (found.size() > 24 || !visited.insert(factor.atom).second) continue;
      const Atom& atom = algebra_.atom(factor.atom);
      if (atom.kind == Kind::load) found.push_back({atom.number, atom.terms});
      if (atom.kind == Kind::integer) found.push_back({-1, atom.terms});
      for (const Branch& branch : atom.branches) reads(branch.body, found, visited);
    }
  }
}

std::vector<std::map<Term, Term>> Same::guesses(const TermList& variables, const Sum& theirs,
                                                const TermList& own, const Sum& mine) {
  std::vector<Read> left, right;
  std::set<int> visited;
  reads(theirs, left, visited);
  visited.clear();
  reads(mine, right, visited);
  std::erase_if(left, [&](const Read& read) {
    return std::none_of(variables.begin(), variables.end(), [&](Term v) {
      return std::any_of(read.at.begin(), read.at.end(), [&](Term at) { return terms_.mentions(at, v); });
    });
  });
  std::vector<std::map<Term, Term>> found;
  int attempts = 0;
  std::vector<std::pair<Term, Term>> equations;
  const auto descend = [&](const auto& self, size_t next) -> void {
    if (attempts > 60 || found.size() > 12) return;
    if (next > 0) {
      ++attempts;
      std::map<Term, Term> solved = solve_digits(terms_, variables, equations);
      if (solved.size() == variables.size()) {
        for (auto& entry : solved) entry.second = algebra_.simplified(entry.second);
        if (std::find(found.begin(), found.end(), solved) == found.end()) found.push_back(std::move(solved));
        return;
      }
    }
    if (next == left.size()) return;
    for (const Read& other : right) {
      if (other.input != left[next].input || other.at.size() != left[next].at.size()) continue;
      const size_t before = equations.size();
      for (size_t d = 0; d < other.at.size(); ++d) equations.emplace_back(left[next].at[d], other.at[d]);
      self(self, next + 1);
      equations.resize(before);
    }
  };
  descend(descend, 0);
  if (variables.size() == own.size() && variables.size() <= 3) {
    TermList order = own;
    std::sort(order.begin(), order.end());
    do {
      std::map<Term, Term> named;
      for (size_t k = 0; k < variables.size(); ++k) named[variables[k]] = order[k];
      if (std::find(found.begin(), found.end(), named) == found.end()) found.push_back(std::move(named));
    } while (std::next_permutation(order.begin(), order.end()));
  }
  return found;
}

// --- Needs.

std::vector<Same::Basic> Same::basic(const Meaning& meaning, const Value& value) {
  std::vector<Basic> all;
  for (const int id : value.needs) {
    const Need& need = meaning.need(id);
    std::vector<Sum> parts;
    const bool zero = need.kind == Need::Kind::not_zero;
    const auto [common, rest] = algebra_.content(need.of, !zero);
    if (zero) {
      for (const Factor& factor : common.pieces.empty() ? std::vector<Factor>{} : common.pieces[0].factors) {
        if (algebra_.sign_of_atom(factor.atom) == Algebra::Sign::positive) continue;
        const Atom& atom = algebra_.atom(factor.atom);
        if (atom.kind == Kind::group) {
          parts.push_back(atom.branches[0].body);
        } else {
          Piece one;
          one.factors = {{factor.atom, 1}};
          parts.push_back({need.of.type, {one}});
        }
      }
    }
    if (algebra_.constant(rest) == nullptr) parts.push_back(rest);
    for (const Sum& part : parts) {
      if (algebra_.sign(part) == Algebra::Sign::positive) continue;
      Basic one{need.kind, part, {}, need.conditions, need.data};
      for (const Term v : algebra_.free_of(part)) {
        const TermList& range = algebra_.range_of(v);
        if (range.empty()) continue;  // a size
        one.variables.push_back(v);
        one.domain.insert(one.domain.end(), range.begin(), range.end());
      }
      all.push_back(std::move(one));
    }
  }
  return all;
}

bool Same::needs_covered(const TermList& facts, const Meaning& mine, const Value& a, const Meaning& theirs,
                         const Value& b) {
  const std::vector<Basic> needed = basic(mine, a), there = basic(theirs, b);
  for (const Basic& need : needed) {
    const TermList here = with(facts, need.domain);
    bool found = algebra_.impossible(here);
    for (const Basic& other : there) {
      if (found) break;
      if (other.kind != need.kind && other.kind != Need::Kind::positive) continue;
      std::vector<std::map<Term, Term>> maps = {{}};
      if (!other.variables.empty()) {
        const auto guessed = guesses(other.variables, other.of, need.variables, need.of);
        maps.insert(maps.end(), guessed.begin(), guessed.end());
      }
      for (const std::map<Term, Term>& values : maps) {
        if (!algebra_.implied(here, terms_.all(substituted(other.domain, values, here)))) continue;
        const Sum of = algebra_.substitute(other.of, values);
        // Wherever it is needed here it is needed there.
        const bool everywhere = std::all_of(other.data.begin(), other.data.end(), [&](const Sum& condition) {
          const Sum there_too = algebra_.substitute(condition, values);
          return std::any_of(need.data.begin(), need.data.end(),
                             [&](const Sum& mine_too) { return same(here, mine_too, there_too); });
        });
        if (!everywhere) continue;
        found = same(here, need.of, of) ||
                (need.kind == Need::Kind::not_zero && same(here, need.of, algebra_.scaled(of, -1)));
        if (found) break;
      }
    }
    if (!found) {
      constexpr const char* kinds[] = {"is not 0", "is not negative", "is positive"};
      return no("one side needs that " + algebra_.text(need.of) + " " +
                kinds[static_cast<size_t>(need.kind)]);
    }
  }
  return true;
}

}  // namespace axrun::verify::equality
