#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "verify/equality/meaning.h"
#include "verify/equality/refutation.h"

namespace axrun::verify::equality {

/// Whether sums are equal. Pieces of their difference are cancelled against each other, in whole or on a part
/// of their domains, under bijections of their variables that are guessed from what they read, and checked.
/// "No" may also mean that it could not be shown; then there is a reason.
class Same {
 public:
  explicit Same(Algebra& algebra) : algebra_(algebra), terms_(algebra.terms()), solver_(algebra.solver()) {}

  /// Wherever the facts hold, which include all that is known.
  bool same(const TermList& facts, const Sum& a, const Sum& b);
  /// Whether all of what one value needs is also needed by the other, or holds.
  bool needs_covered(const TermList& facts, const Meaning& mine, const Value& a, const Meaning& theirs,
                     const Value& b);
  /// Whether it is a term of a maximum less that maximum, times something positive: never above 0.
  bool below_its_maximum(const TermList& facts, const Sum& a);
  /// Whether it is a sum of exponentials of such differences, over all that the maximum is of: at least 1.
  bool holds_its_maximum(const TermList& facts, const Sum& a);
  const std::string& reason() const { return reason_; }
  int bijections() const { return bijections_; }
  /// Of differences that did not vanish: to be executed.
  const Witness& witness() const { return witness_; }

 private:
  struct Match {
    std::map<Term, Term> there;  ///< the other's variables, as terms of one's own
    std::map<Term, Term> back;   ///< one's own, as terms of the other's
  };
  struct Excess {
    Sum rest;  ///< the value is rest - the maximum of the branches
    std::vector<Branch> branches;
  };
  std::optional<Excess> excess(const Sum& a);
  std::vector<Branch> alternatives(const Branch& given);
  struct Basic {
    Need::Kind kind;
    Sum of;
    TermList variables, domain;
    std::vector<Sum> data;
  };
  bool vanishes(const TermList& facts, const Sum& difference);
  bool is_outside(const Piece& piece, const Factor& factor) const;
  bool cancel(const TermList& facts, std::vector<Piece>& pieces, size_t at, bool opposite);
  bool matches(const TermList& facts, const Piece& p, const Piece& q, Match& match);
  bool same_factors(const TermList& facts, const Piece& p, const Piece& q, const std::map<Term, Term>& there);
  bool same_atom(const TermList& facts, int a, int b);
  bool same_branches(const TermList& facts, const Atom& a, const Atom& b);
  bool covered(const TermList& facts, const Branch& branch, const std::vector<Branch>& others);
  bool paired(const TermList& facts, const Atom& a, const Atom& b);
  /// Candidates for the variables of what reads `theirs`, from what reads `mine`.
  std::vector<std::map<Term, Term>> guesses(const TermList& variables, const Sum& theirs, const TermList& own,
                                            const Sum& mine);
  struct Read {
    int input;
    TermList at;
  };
  void reads(const Sum& a, std::vector<Read>& found, std::set<int>& visited);
  // Of sums without variables (scalars.cpp).
  bool zero_by_cases(const TermList& facts, Sum difference);
  Sum without_denominators(const Sum& a);
  Sum unified(const TermList& facts, const Sum& a, std::map<int, int>& chosen);
  // bits.cpp
  bool zero_by_bits(const TermList& facts, const Sum& difference);
  bool zero_in_bits(const TermList& facts, const Sum& difference);
  // pointwise.cpp
  std::optional<Piece> brought_to(const TermList& facts, const Piece& given, const Piece& to);
  bool zero_pointwise(const TermList& facts, ir::ElementType type, const std::vector<Piece>& pieces);
  std::vector<Basic> basic(const Meaning& meaning, const Value& value);
  TermList substituted(const TermList& list, const std::map<Term, Term>& values, const TermList& extra);
  bool no(const std::string& reason) {
    reason_ = reason;
    return false;
  }

  Algebra& algebra_;
  Terms& terms_;
  Solver& solver_;
  std::map<std::tuple<int, int, TermList>, bool> known_;
  Witness witness_;
  std::string reason_ = "the values differ";
  int steps_ = 0, bijections_ = 0, depth_ = 0;
};

}  // namespace axrun::verify::equality
