// Reductions are equal if their terms are: there is a map from the terms of one to those of the other, under
// which the terms are equal and every term is hit exactly once (at least once where the monoid is
// idempotent). The map and its inverse are guesses; what is believed is checked here.
#include <algorithm>
#include <deque>

#include "verify/checks.h"
#include "verify/loop_nest.h"
#include "verify/same_value.h"
#include "verify/unproved.h"
#include "verify/witness.h"

namespace axrun::verify {

using ir::Monoid;
using HeadKind = ValueHead::Kind;

namespace {

bool idempotent(Monoid::Kind monoid) { return monoid == Monoid::Kind::min || monoid == Monoid::Kind::max; }

std::map<Term, int64_t> steps_of(const Part& part) {
  std::map<Term, int64_t> steps;
  for (size_t k = 0; k < part.variables.size(); ++k) steps[part.variables[k]] = part.steps[k];
  return steps;
}

}  // namespace

/// Reductions within reductions of the same monoid become one; cases split the domain; the identity is
/// dropped.
std::vector<Part> SameValue::flat(const TermList& facts, const ValueHead& reduction) {
  std::vector<Part> done;
  std::deque<Part> open(reduction.parts.begin(), reduction.parts.end());
  for (; !open.empty(); open.pop_front()) {
    const Part part = open.front();
    solver_.check_time();
    if (done.size() + open.size() > 64) throw Unproved{"a reduction has too many parts"};
    const TermList inside = with(facts, part.domain);
    const auto head = part.body->head(inside);
    if (head->kind == HeadKind::cases) {
      for (size_t k = 0; k < head->terms.size(); ++k) {
        Part piece = part;
        piece.domain.push_back(head->terms[k]);
        piece.body = head->arguments[k];
        if (!solver_.impossible(with(facts, piece.domain))) open.push_back(piece);
      }
    } else if (head->kind == HeadKind::reduction && head->monoid == reduction.monoid) {
      for (const Part& inner : head->parts) {
        Part piece = part;
        append(piece.variables, inner.variables);
        piece.steps.insert(piece.steps.end(), inner.steps.begin(), inner.steps.end());
        append(piece.domain, inner.domain);
        piece.body = inner.body;
        if (!inner.claim.stage.empty()) piece.claim = inner.claim;
        open.push_back(piece);
      }
    } else if (part.variables.empty() && head->kind == HeadKind::operation &&
               head->op == operation_of(reduction.monoid)) {
      for (Symbolic* argument : head->arguments) {
        open.push_back(part);
        open.back().body = argument;
      }
    } else if (!is_identity(terms_, *head, reduction.monoid)) {
      done.push_back(part);
    }
  }
  return done;
}

Symbolic* SameValue::only_term(TermList& facts, const ValueHead& reduction) {
  const std::vector<Part> parts = flat(facts, reduction);
  if (parts.size() != 1) return nullptr;
  const Part& part = parts[0];
  std::map<Term, Term> first;
  TermList zero;
  for (const Term variable : part.variables) {
    first[variable] = terms_.integer(0);
    zero.push_back(terms_.equal(variable, terms_.integer(0)));
  }
  const Term exists = terms_.substitute(terms_.all(part.domain), first);
  const bool alone =
      solver_.implied(facts, exists) && solver_.implied(with(facts, part.domain), terms_.all(zero));
  if (!alone && checks::on("reductions.only_term")) return nullptr;
  facts = with(with(facts, part.domain), zero);
  return part.body;
}

void SameValue::inputs(const TermList& facts, Symbolic* value, int depth, std::vector<ValueHead>& found) {
  const auto head = value->head(facts);
  if (head->kind == HeadKind::input) found.push_back(*head);
  if (depth == 0 || found.size() > 8) return;
  for (size_t k = 0; k < head->arguments.size(); ++k) {
    const bool cases = head->kind == HeadKind::cases;
    inputs(cases ? with(facts, head->terms[k]) : facts, head->arguments[k], depth - 1, found);
  }
  for (const Part& part : head->parts) inputs(with(facts, part.domain), part.body, depth - 1, found);
}

/// Where the terms read the same input they are perhaps the same point; or where they are of stages over the
/// same coordinates.
std::vector<TermList> SameValue::guesses(const TermList& facts, const Part& a, const Part& b) {
  const std::map<Term, int64_t> unknowns = steps_of(b);
  std::vector<TermList> found;
  std::vector<std::pair<Term, Term>> all;
  const auto attempt = [&](const std::vector<std::pair<Term, Term>>& equations) {
    const std::map<Term, Term> solved = solve(terms_, unknowns, equations);
    TermList point;
    for (const Term variable : b.variables) {
      if (solved.count(variable) != 0) point.push_back(solved.at(variable));
    }
    if (point.size() == b.variables.size() && std::find(found.begin(), found.end(), point) == found.end())
      found.push_back(point);
  };
  for (const Term x : one_side_ ? a.claim.point : TermList{}) {
    for (const Term y : b.claim.point) attempt({{y, x}});
  }
  if (!found.empty()) return found;
  std::vector<ValueHead> mine, theirs;
  inputs(with(facts, a.domain), a.body, 6, mine);
  inputs(with(facts, b.domain), b.body, 6, theirs);
  std::vector<bool> used(theirs.size());
  for (const ValueHead& x : mine) {
    for (size_t k = 0; k < theirs.size(); ++k) {
      if (x.input != theirs[k].input) continue;
      std::vector<std::pair<Term, Term>> equations;
      for (size_t d = 0; d < x.terms.size(); ++d) equations.emplace_back(theirs[k].terms[d], x.terms[d]);
      if (!used[k]) all.insert(all.end(), equations.begin(), equations.end());
      used[k] = true;
      attempt(equations);
    }
  }
  attempt(all);
  if (a.variables.size() == b.variables.size()) found.push_back(a.variables);
  return found;
}

/// Candidates for the values of b's variables, from a's.
std::vector<TermList> SameValue::points(const TermList& facts, const Part& a, const Part& b) {
  if (b.variables.empty()) return {{}};
  std::vector<TermList> found;
  // The same loops, of which the outer ones have one iteration in b.
  if (one_side_ && a.variables.size() >= b.variables.size())
    found.emplace_back(a.variables.end() - static_cast<std::ptrdiff_t>(b.variables.size()),
                       a.variables.end());
  if (a.claim.stage == b.claim.stage && a.claim.point.size() == b.claim.point.size()) {
    TermList point;
    for (const Term variable : b.variables) {
      const auto at = std::find(b.claim.point.begin(), b.claim.point.end(), variable);
      if (at != b.claim.point.end())
        point.push_back(a.claim.point[static_cast<size_t>(at - b.claim.point.begin())]);
    }
    if (point.size() == b.variables.size()) found.push_back(point);
  }
  for (TermList& guess : guesses(facts, a, b)) {
    if (std::find(found.begin(), found.end(), guess) == found.end()) found.push_back(std::move(guess));
  }
  return found;
}

bool SameValue::matches(const TermList& facts, Monoid::Kind monoid, const Part& a, const Part& b,
                        Match& match) {
  const TermList mine = with(facts, a.domain);
  const bool shared = std::any_of(a.variables.begin(), a.variables.end(), [&](Term variable) {
    return std::count(b.variables.begin(), b.variables.end(), variable) != 0;
  });
  if (shared) return matches_itself(facts, a, b, match);
  for (const TermList& point : points(facts, a, b)) {
    const Term here = terms_.same(b.variables, point);
    const TermList both = with(mine, here);
    if (!solver_.implied(both, terms_.all(b.domain)) && checks::on("reductions.extra_term")) {
      no("a reduction has terms that it should not have");
      continue;
    }
    if (!same(with(both, b.domain), a.body, b.body)) continue;
    std::vector<std::pair<Term, Term>> equations;
    for (size_t k = 0; k < point.size(); ++k) equations.emplace_back(point[k], b.variables[k]);
    match = {&a, point, solve(terms_, steps_of(a), equations)};
    TermList inverse;
    for (const Term variable : a.variables) {
      const Term value =
          match.inverse.emplace(variable, terms_.integer(0)).first->second;  // 0: one iteration only
      inverse.push_back(value);
    }
    // The inverse of the point is where it came from. Written over a's variables quotients mostly cancel.
    std::map<Term, Term> forth;
    for (size_t k = 0; k < point.size(); ++k) forth.emplace(b.variables[k], point[k]);
    TermList back;
    for (const Term value : inverse) back.push_back(terms_.substitute(value, forth));
    if (!idempotent(monoid) && !solver_.implied(mine, terms_.same(a.variables, back)) &&
        !solver_.implied(both, terms_.same(a.variables, inverse)) && checks::on("reductions.term_twice")) {
      no("a reduction perhaps has a term more than once");
      continue;
    }
    return true;
  }
  return false;
}

/// Two values of the program may have unfolded to parts with the same variables.
bool SameValue::matches_itself(const TermList& facts, const Part& a, const Part& b, Match& match) {
  const TermList mine = with(facts, a.domain);
  if (a.variables != b.variables || !solver_.implied(mine, terms_.all(b.domain)) ||
      !same(with(mine, b.domain), a.body, b.body))
    return no("a reduction is compared with another one over its own variables");
  match = {&a, a.variables, {}};
  for (const Term variable : a.variables) match.inverse.emplace(variable, variable);
  return true;
}

/// That a's term at the inverse of b's variables exists and is theirs.
Term SameValue::hit(const Match& match, const Part& b) {
  TermList facts;
  for (const Term fact : match.part->domain) facts.push_back(terms_.substitute(fact, match.inverse));
  for (size_t k = 0; k < match.point.size(); ++k)
    facts.push_back(terms_.equal(terms_.substitute(match.point[k], match.inverse), b.variables[k]));
  return terms_.all(facts);
}

/// Two parts hit different terms. The second one's variables are renamed: the parts may share them.
bool SameValue::apart(const TermList& facts, const Match& a, const Match& b) {
  std::map<Term, Term> renamed;
  for (const Term variable : b.part->variables)
    renamed[variable] = terms_.variable("other", terms_.magnitude(variable));
  TermList clash = with(facts, a.part->domain);
  for (const Term fact : b.part->domain) clash.push_back(terms_.substitute(fact, renamed));
  for (size_t k = 0; k < a.point.size(); ++k)
    clash.push_back(terms_.equal(a.point[k], terms_.substitute(b.point[k], renamed)));
  return solver_.impossible(clash);
}

/// Every part of one side is part of the other, which they make up together.
bool SameValue::same_terms(const TermList& facts, Monoid::Kind monoid, const std::vector<Part>& mine,
                           const std::vector<Part>& theirs) {
  std::vector<std::vector<Match>> matched(theirs.size());
  for (const Part& part : mine) {
    bool found = false;
    for (size_t k = 0; k < theirs.size() && !found; ++k) {
      Match match;
      found = matches(facts, monoid, part, theirs[k], match);
      if (found) matched[k].push_back(std::move(match));
    }
    if (!found && !solver_.impossible(with(facts, part.domain)) && checks::on("reductions.extra_term")) {
      return theirs.empty() ? no("a reduction has terms that it should not have") : false;
    }
  }
  for (size_t k = 0; k < theirs.size(); ++k) {
    TermList ways;
    for (const Match& match : matched[k]) ways.push_back(hit(match, theirs[k]));
    if (!solver_.implied(with(facts, theirs[k].domain), terms_.any(ways)) &&
        checks::on("reductions.lacking_term"))
      return no("a reduction perhaps lacks a term");
    if (idempotent(monoid)) continue;
    for (size_t i = 0; i < matched[k].size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        if (!apart(facts, matched[k][i], matched[k][j]) && checks::on("reductions.parts_meet"))
          return no("a reduction perhaps has a term more than once");
      }
    }
  }
  return true;
}

bool SameValue::same_reduction(const TermList& facts, const ValueHead& a, const ValueHead& b) {
  if (a.monoid != b.monoid && checks::on("reductions.monoid")) return no("reductions differ");
  const std::vector<Part> mine = flat(facts, a), theirs = flat(facts, b);
  // One way or the other: of a map and its inverse one may be easier to guess.
  if (!same_terms(facts, a.monoid, mine, theirs)) {
    const std::string reason = reason_;
    if (!same_terms(facts, a.monoid, theirs, mine)) return no(reason);
  }
  ++reductions_;
  return true;
}

}  // namespace axrun::verify
