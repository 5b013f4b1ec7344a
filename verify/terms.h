#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace axrun::verify {

/// Integers and truth values of a proof, without a solver: sums with literal coefficients over atoms, an atom
/// being a variable, a quotient, a remainder, an extremum, a choice, a product or an index that is data.
/// Equal terms have one number (sums are merged and sorted), so most equalities need no solver.
///
/// Integers are unbounded. So that this agrees with 64-bit arithmetic every variable states a bound of its
/// absolute value, and a term that could leave 62 bits is refused with Error(unsupported).
struct Term {
  int id = -1;
  auto operator<=>(const Term&) const = default;
};
using TermList = std::vector<Term>;

/// constant + sum of coefficient * atom; no coefficient is 0.
struct LinearForm {
  int64_t constant = 0;
  std::map<Term, int64_t> coefficients;
  auto operator<=>(const LinearForm&) const = default;
};

class Terms {
 public:
  enum class Kind : uint8_t {
    sum,           // of `linear`
    variable,      // `name`
    floor_div,     // of arguments 0 and 1
    floor_mod,     //
    minimum,       //
    maximum,       //
    product,       //
    choose,        // arguments: condition, integer, integer
    lookup,        // of input `name`; arguments: extent, and the element's coordinates
    truth,         // linear.constant is 0 or 1
    non_negative,  // argument 0 >= 0
    zero,          // argument 0 == 0
    negation,
    all,
    any,
  };
  struct Node {
    Kind kind = Kind::sum;
    TermList arguments;
    LinearForm linear;
    std::string name;
    auto operator<=>(const Node&) const = default;
  };

  Term integer(int64_t value);
  /// A new variable; the name is for the reader. magnitude: no value that matters is larger.
  Term variable(const std::string& name, double magnitude);
  Term add(Term a, Term b) { return combine(a, 1, b); }
  Term subtract(Term a, Term b) { return combine(a, -1, b); }
  Term scale(int64_t factor, Term a);
  Term multiply(Term a, Term b);
  /// Quotient towards minus infinity and its remainder. A divisor that is no literal must be positive where
  /// the result matters: nothing is known about it elsewhere. A literal one that is not positive is refused.
  Term floor_div(Term a, Term b);
  Term floor_mod(Term a, Term b);
  Term minimum(Term a, Term b);
  Term maximum(Term a, Term b);
  Term choose(Term condition, Term a, Term b);
  /// The index, inside of a dimension of this extent, that an element of an input stands for: that of
  /// integers which nothing else is known about. Where the data lead outside, no value matters.
  Term lookup(int input, Term extent, const TermList& element);

  Term truth(bool value);
  Term at_least(Term a, Term b);
  Term less(Term a, Term b) { return at_least(b, add(a, integer(1))); }
  Term equal(Term a, Term b);
  Term negation(Term a);
  Term all(const TermList& list);
  Term any(const TermList& list);
  Term iff(Term a, Term b);
  /// The vectors differ: any of their elements does.
  Term different(const TermList& a, const TermList& b);
  Term same(const TermList& a, const TermList& b);
  /// Lexicographic order of positions [from, to).
  Term before(const TermList& a, const TermList& b, size_t from, size_t to);

  /// Variables, or other terms that are no sums, replaced at the same time.
  Term substitute(Term term, const std::map<Term, Term>& values);

  const Node& node(Term term) const { return nodes_[static_cast<size_t>(term.id)]; }
  /// An atom counts as itself.
  LinearForm linear(Term term) const;
  double magnitude(Term term) const { return magnitudes_[static_cast<size_t>(term.id)]; }
  bool is_literal(Term term) const;
  bool is_boolean(Term term) const { return node(term).kind >= Kind::truth; }
  bool mentions(Term term, Term variable) const;
  std::string text(Term term) const;

 private:
  Term intern(Node node, double magnitude);
  Term from_linear(LinearForm linear);
  Term combine(Term a, int64_t factor, Term b);
  Term atom(Kind kind, TermList arguments, double magnitude);
  Term divide(Kind kind, Term a, Term b);
  /// What a has as multiples of b, which is no literal: a = b * first + second.
  std::pair<Term, Term> multiples(Term a, Term b);

  std::deque<Node> nodes_;  // references to nodes outlive additions
  std::vector<double> magnitudes_;
  std::unordered_multimap<size_t, Term> known_;  ///< by the hash of their nodes
};

}  // namespace axrun::verify
