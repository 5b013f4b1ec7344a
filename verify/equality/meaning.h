#pragma once

#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "verify/dim_terms.h"
#include "verify/equality/sum.h"

namespace axrun::verify::equality {

/// What must hold for a value to be one.
struct Need {
  enum class Kind : uint8_t { not_zero, not_negative, positive };
  Kind kind = Kind::not_zero;
  Sum of;
  TermList conditions;    ///< only where these hold
  std::vector<Sum> data;  ///< and where these, which are truth values of data, are 1
  bool operator==(const Need&) const = default;
};

/// A scalar with what it takes to have it.
struct Value {
  Sum sum;
  bool up = false, down = false;  ///< perhaps infinite, or less than all numbers
  std::set<int> needs;            ///< Meaning::need
};

/// The values of a tensor expression at symbolic points.
class Meaning {
 public:
  Meaning(const ir::Program& program, const Names& sizes, Algebra& algebra);

  /// An element of a tensor, whose coordinates are within its dims. Throws Unproved.
  const Value& element(ir::TensorId tensor, const TermList& coordinates);
  TermList dims(ir::TensorId tensor);
  /// What an expression of a stage's body is at a point: axes, then reduce axes.
  Sum sum_at(int stage, ir::ExprId id, const TermList& axes) { return value(id, {stage, axes}).sum; }
  Term extent(const ir::Dim& dim);
  const Need& need(int id) const { return needs_[static_cast<size_t>(id)]; }
  /// Throws Unproved where a stage perhaps reads what is not there.
  void require_reads_inside();

  /// Of an integer.
  struct IntegerRange {
    mpz_class low, high;
  };

 private:
  struct Place {
    int stage;
    TermList axes;  ///< axes, then reduce axes
  };
  struct RealRules;
  Value made(ir::TensorId tensor, const TermList& coordinates);
  Value reduced(const ir::Stage& stage, size_t result, Place place);
  Value value(ir::ExprId id, const Place& at);
  Value evaluated(const ir::Expr& e, const Place& at);
  Value read(const ir::Expr& e, const Place& at);
  Value real_operation(const ir::Expr& e, const std::vector<Value>& args);
  Value integer_operation(const ir::Expr& e, const std::vector<Value>& args);
  Value comparison(const ir::Expr& e, const std::vector<Value>& args);
  Value logical(const ir::Expr& e, const std::vector<Value>& args);
  Value cast(const ir::Expr& e, const Value& argument);
  // casts.cpp
  static const Sum* cast_of(const Atom& atom);
  std::optional<IntegerRange> atom_range(const Atom& atom) const;
  std::optional<IntegerRange> integer_range(const Sum& sum) const;
  std::optional<Sum> same_number(const Sum& sum, ir::ElementType to);
  Sum cast_atom(int id, ir::ElementType to);
  Value rounded(ir::ElementType type, Value argument);
  Value product(const Value& a, const Value& b);
  Value sum(const Value& a, const Value& b);
  Value negative(const Value& a);
  Value chosen(Term condition, const Value& then, const Value& otherwise);
  Value power(const Value& base, const Rational& exponent);
  void needs(Value& value, Need::Kind kind, const Sum& of);
  std::optional<Term> index(ir::ExprId id, const Place& at);
  std::optional<Term> lookup(ir::ExprId id, const ir::Dim& extent, const Place& at);
  TermList axes_of(const ir::Stage& stage, const TermList& coordinates);
  int keep(Need need);

  const ir::Program& program_;
  const Names& sizes_;
  Algebra& algebra_;
  std::vector<int> operand_, producer_;
  std::vector<Need> needs_;
  std::map<std::pair<ir::TensorId, TermList>, Value> elements_;
  std::map<std::tuple<ir::ExprId, int, TermList>, Value> values_;
};

}  // namespace axrun::verify::equality
