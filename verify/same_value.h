#pragma once

#include <deque>
#include <map>
#include <string>
#include <tuple>

#include "verify/merged_dims.h"
#include "verify/symbolic_value.h"

namespace axrun::verify {

/// Whether two values are equal over the reals wherever facts hold: the same operations (arguments of
/// commutative ones in any order, a quotient as a product with the reciprocal) of the same inputs, and
/// reductions over the same terms in any order, or factors common to them outside of a sum of integers;
/// recurrences by induction (same_recurrence.cpp); sums that are rescaled whenever a maximum grows
/// (same_rescaled.cpp). The integers in them are compared by the solver. "No" may also mean that it could not
/// be shown; then there is a reason.
class SameValue {
 public:
  /// size_facts: what holds everywhere.
  SameValue(Terms& terms, Solver& solver, TermList size_facts)
      : terms_(terms), solver_(solver), size_facts_(std::move(size_facts)) {}

  bool same(const TermList& facts, Symbolic* program, Symbolic* expression);
  /// Whether recurrences are equal that answers so far took to be: nothing is shown before.
  bool recurrences_hold();
  const std::string& reason() const { return reason_; }
  /// Of reductions that were matched.
  int reductions() const { return reductions_; }

 private:
  struct Match {
    const Part* part;
    TermList point;                ///< values of the other side's variables, from the part's
    std::map<Term, Term> inverse;  ///< of the part's variables, from the other side's
  };
  /// That two recurrences have the same values everywhere: to be shown, and the hypothesis while it is.
  struct Induction {
    std::shared_ptr<const Recurrence> program, expression;
    MergedDims coordinates;  ///< of the program's, those after the time
  };
  /// A product over the reals: of `above`, divided by all of `below`, times exp(sum of `plus` - sum of
  /// `minus`).
  struct Product {
    std::vector<Symbolic*> above, below, plus, minus;
  };
  bool same_rescaled(const TermList& facts, Symbolic* program, Symbolic* expression);
  bool has_rescaled(const TermList& facts, Symbolic* value, int depth);
  void multiply(const TermList& facts, Symbolic* value, bool inverse, Product& product);
  void multiply_rescaled(const TermList& facts, const ValueHead& sum, bool inverse, Product& product);
  Product factors(const TermList& facts, Symbolic* value);
  Product divisor(const TermList& facts, const Rescaling& rescaling, Term time);
  void require_telescoping(const TermList& facts, const Rescaling& rescaling);
  Product softmax_product(const TermList& facts, Symbolic* expression);
  void cancel(const TermList& facts, Product& product);
  bool pair_up(const TermList& facts, std::vector<Symbolic*>& left, std::vector<Symbolic*>& right);
  bool at_most(const TermList& facts, Symbolic* a, Symbolic* b, const Claim& claim = {});
  bool is_positive(const TermList& facts, Symbolic* value);
  Symbolic* product_of(const Product& product, ir::ElementType type);
  Symbolic* sum_of(std::vector<Part> parts, ir::ElementType type);
  bool same_recurrence(const TermList& facts, const ValueHead& a, const ValueHead& b);
  bool holds(const Induction& induction);
  bool compare(const TermList& facts, Symbolic* a, Symbolic* b);
  bool same_operation(const TermList& facts, const ValueHead& a, const ValueHead& b);
  bool plausible(const TermList& facts, Symbolic* a, Symbolic* b, int depth);
  bool same_reduction(const TermList& facts, const ValueHead& a, const ValueHead& b);
  /// See scaled_sum.cpp.
  struct Quotient {
    std::vector<bool> used;  ///< per scale
    std::vector<Symbolic*> integers;
    double literal = 1;  ///< product of the literal factors
    bool zero = false;
  };
  bool same_scaled_sum(const TermList& facts, const ValueHead& sum, Symbolic* product);
  /// A part of a sum as a product of integers, in place of its body.
  struct IntegerPart {
    Part part;
    std::vector<Symbolic*> factors;
  };
  ValueHead sum_of_products(const std::vector<IntegerPart>& parts);
  bool same_difference(const TermList& facts, const std::vector<IntegerPart>& parts, Symbolic* sum,
                       Symbolic* less);
  std::optional<int64_t> literal_integer(const TermList& facts, Symbolic* value);
  bool find_shift(const TermList& facts, Symbolic* value, std::optional<int64_t>& shift);
  Symbolic* shifted(const TermList& facts, Symbolic* value, int64_t shift);
  void factors(const TermList& facts, Symbolic* value, std::vector<Symbolic*>& found);
  bool divide(const TermList& facts, Symbolic* value, const std::vector<Symbolic*>& scales,
              Quotient& quotient);
  bool divide_cases(const TermList& facts, const ValueHead& cases, const std::vector<Symbolic*>& scales,
                    Quotient& quotient);
  double most_of(const TermList& facts, const Part& part, const std::vector<Symbolic*>& integers);
  bool same_terms(const TermList& facts, ir::Monoid::Kind monoid, const std::vector<Part>& mine,
                  const std::vector<Part>& theirs);
  ValueHead normal(const TermList& facts, ValueHead operation);
  std::vector<Part> flat(const TermList& facts, const ValueHead& reduction);
  bool matches(const TermList& facts, ir::Monoid::Kind monoid, const Part& a, const Part& b, Match& match);
  /// The term of a reduction that has just one, where all its variables are 0: the facts then say so.
  /// Null elsewhere.
  Symbolic* only_term(TermList& facts, const ValueHead& reduction);
  bool matches_itself(const TermList& facts, const Part& a, const Part& b, Match& match);
  std::vector<TermList> points(const TermList& facts, const Part& a, const Part& b);
  std::vector<TermList> guesses(const TermList& facts, const Part& a, const Part& b);
  void inputs(const TermList& facts, Symbolic* value, int depth, std::vector<ValueHead>& found);
  Term hit(const Match& match, const Part& b);
  bool apart(const TermList& facts, const Match& a, const Match& b);
  bool no(const std::string& reason) {
    reason_ = reason;
    return false;
  }

  Terms& terms_;
  Solver& solver_;
  const TermList size_facts_;
  std::deque<Induction> inductions_;
  size_t shown_ = 0;                    ///< of these
  const Induction* current_ = nullptr;  ///< the one that is being shown, at the time `now_`
  Term now_;
  std::map<std::tuple<Symbolic*, Symbolic*, TermList>, bool> known_;
  std::map<Symbolic*, Symbolic*> reciprocals_;
  bool one_side_ = false;  ///< values of the program are compared with each other
  std::deque<Unfolded> kept_;
  std::string reason_ = "the values differ";
  int steps_ = 0;
  int reductions_ = 0;
};

}  // namespace axrun::verify
