#pragma once

#include <gmpxx.h>

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "ir/program.h"
#include "verify/solver.h"
#include "verify/terms.h"

namespace axrun::verify::equality {

using Rational = mpq_class;

/// A power of an atom (Algebra::atom). Powers that are no natural numbers are of what is not 0, or not
/// negative.
struct Factor {
  int atom = -1;
  Rational power = 1;
  bool operator==(const Factor&) const = default;
};

/// The sum, over all values of the variables in the domain, of coefficient * product of the factors. Without
/// variables: that value where the domain, a condition then, holds, and 0 elsewhere.
struct Piece {
  Rational coefficient = 1;
  TermList variables;
  TermList domain;              ///< sorted facts, those of the variables' ranges among them
  std::vector<Factor> factors;  ///< sorted by atom
  bool operator==(const Piece&) const = default;
};

/// A scalar of a tensor program at a symbolic point, as a sum of products: canonical, but for the order of
/// variables and how integers are written. Over the reals for float types and truth values (0 and 1), modulo
/// two to the width for integer types.
struct Sum {
  ir::ElementType type = ir::ElementType::f32;
  std::vector<Piece> pieces;
  bool operator==(const Sum&) const = default;
};

/// A value for all values of variables in a domain.
struct Branch {
  TermList variables;
  TermList domain;
  Sum body;
  bool operator==(const Branch&) const = default;
};

/// What algebra knows nothing more of than its arguments, and laws that are applied where one is made.
struct Atom {
  enum class Kind : uint8_t {
    load,         ///< element `terms` of input `number`
    integer,      ///< terms[0]: no sum and no product
    infinity,     ///< as large as it needs to be
    exponential,  ///< e to the power of a product with the coefficient 1
    group,        ///< a sum, of which powers that are no natural numbers are taken
    step,         ///< 1 where a sum is positive, 0 elsewhere
    maximum,      ///< of reals
    reduction,    ///< by the monoid `number`, which is neither a sum nor a maximum of reals
    call,         ///< ScalarOp `number` of the bodies of the branches
  };
  Kind kind = Kind::call;
  ir::ElementType type = ir::ElementType::f32;
  int number = 0;
  TermList terms;
  std::vector<Branch> branches;
  // Of the above:
  TermList free;     ///< variables that are not bound within, sorted
  int height = 0;    ///< of binders within: those of one height have one set of names
  size_t shape = 0;  ///< a hash that does not depend on names and indices
};

/// Sums and their laws. Whatever is divided by is taken to be different from 0, and roots to be of what is
/// not negative: whoever asks keeps the obligations.
class Algebra {
 public:
  /// facts: what holds everywhere.
  Algebra(Terms& terms, Solver& solver, TermList facts)
      : terms_(terms), solver_(solver), facts_(std::move(facts)) {}

  /// Also hyperbolic functions as exponentials: more is equal, and terms are larger.
  bool expand_hyperbolic = false;

  Terms& terms() { return terms_; }
  Solver& solver() { return solver_; }
  const TermList& facts() const { return facts_; }
  const Atom& atom(int id) const { return atoms_[static_cast<size_t>(id)]; }

  /// A variable in 0 <= variable < extent; what mentions it is only of interest where there is one.
  Term variable(const std::string& name, Term extent);
  const TermList& range_of(Term variable);
  /// What holds everywhere, and the ranges of the variables in the terms.
  TermList facts_about(const TermList& terms);
  /// The solver's answers, with what is known of products and quotients by sizes in the facts.
  bool implied(const TermList& facts, Term goal);
  bool impossible(const TermList& facts);

  // Leaves.
  Sum number(ir::ElementType type, const Rational& value);
  Sum integer(ir::ElementType type, Term term);
  Sum infinity(ir::ElementType type, bool positive);
  Sum of_atom(Atom atom);
  /// 1 where it holds, else 0.
  Sum truth(Term condition);

  // The ring.
  Sum add(const Sum& a, const Sum& b);
  Sum subtract(const Sum& a, const Sum& b) { return add(a, scaled(b, -1)); }
  Sum scaled(const Sum& a, const Rational& by);
  Sum multiply(const Sum& a, const Sum& b);
  Sum guarded(const Sum& a, Term condition);
  /// The sum over all values of the variables in their ranges.
  Sum over(const TermList& variables, const Sum& body);
  Sum typed(Sum a, ir::ElementType type);

  // Functions (functions.cpp).
  Sum power(const Sum& base, const Rational& exponent);
  Sum exponential(const Sum& of);
  Sum logarithm(const Sum& of);
  Sum absolute(const Sum& of);
  Sum positive(const Sum& of);  ///< 1 where of > 0
  Sum maximum(ir::ElementType type, std::vector<Branch> branches);
  Sum reduction(ir::ElementType type, ir::Monoid::Kind monoid, std::vector<Branch> branches);
  Sum call(ir::ScalarOp op, ir::ElementType type, const std::vector<Sum>& arguments);

  // Signs, over the reals, wherever facts hold (signs.cpp).
  enum class Sign : uint8_t { unknown, not_negative, positive };
  Sign sign(const Sum& a);
  Sign sign_of_atom(int id);
  Sign sign_of_power(const Factor& factor);
  /// Exponentials are positive over the reals and 0 in every type, and what saturates, such as tanh, reaches
  /// its bounds there: no comparison may rest on the difference. Whether a sum is positive by such alone.
  bool may_vanish(const Sum& a);
  bool mentions_exponentials(const Sum& a);

  // Names.
  Sum substitute(const Sum& a, const std::map<Term, Term>& values);
  Branch substitute(const Branch& a, const std::map<Term, Term>& values);
  int substitute_atom(int id, const std::map<Term, Term>& values);
  /// The piece under variables that occur nowhere else.
  Piece opened(const Piece& piece);
  Branch opened(const Branch& branch);
  /// The value of one piece: variables get the names of their height, those that nothing depends on are
  /// counted.
  Sum closed(ir::ElementType type, Piece piece);
  Branch closed(Branch branch);
  Term simplified(Term term, const TermList& extra = {});

  /// The constant that it is.
  const Rational* constant(const Sum& a) const;
  TermList free_of(const Sum& a) const;
  TermList free_of(const Piece& piece) const;
  size_t shape_of(const Piece& piece) const;
  std::string text(const Sum& a, int depth = 3) const;
  std::string text_of_atom(int id, int depth) const;

  /// The cases by conditions that are no data: each with conditions, exactly one set of which holds.
  std::vector<std::pair<TermList, std::vector<Sum>>> cases(const std::vector<Sum>& values);
  /// Common factor of all pieces, and the rest. positive: only what is known to be positive.
  std::pair<Sum, Sum> content(const Sum& a, bool positive);

 private:
  int intern(Atom atom);
  void put(std::vector<Piece>& pieces, Piece piece, ir::ElementType type) const;
  Sum product(ir::ElementType type, const Piece& a, const Piece& b);
  bool normalize(TermList& domain) const;
  Term canonical(int height, size_t position, double magnitude);
  bool is_fresh(const Piece& piece) const;
  std::optional<Term> count_of(Term v, const TermList& about, const TermList& rest);
  const TermList& variables_of_term(Term term);
  Sum assumed(const Sum& a, Term condition, const TermList& facts);
  Sum power_of_case(const Sum& base, const Rational& exponent);
  Sum exponential_of_case(const Sum& of);
  Sum logarithm_of_case(const Sum& of);
  Sum absolute_of_case(const Sum& of);
  Sum call_of_case(ir::ScalarOp op, ir::ElementType type, std::vector<Sum> arguments);
  template <typename Function>
  Sum by_cases(ir::ElementType type, const std::vector<Sum>& values, const Function& function);
  Sum product_of_factors(ir::ElementType type, const std::vector<Factor>& factors);
  bool leads_negative(const Sum& a) const;
  std::vector<Branch> flattened(std::vector<Branch> branches);

  Terms& terms_;
  Solver& solver_;
  TermList facts_;
  std::deque<Atom> atoms_;  // references outlive additions
  std::unordered_multimap<size_t, int> known_;
  std::map<Term, TermList> ranges_;
  std::map<std::tuple<int, size_t, double>, Term> canonical_;
  std::set<Term> canonical_names_;
  std::map<Term, TermList> variables_of_;
  std::map<std::pair<int, std::map<Term, Term>>, int> substituted_;
  std::map<Term, Term> simplified_;
  void collect_derived(Term term, std::set<Term>& visited, TermList& derived);
  std::optional<Term> upper_bound(Term term);
  std::map<Term, TermList> derived_;  ///< of a product or a quotient
  std::map<int, Sign> signs_;
};

}  // namespace axrun::verify::equality
