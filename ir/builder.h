#pragma once

#include <deque>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ir/expression_pool.h"
#include "ir/program.h"

namespace axrun::ir {

class Builder;

/// A scalar expression under construction. Arithmetic on Scalars appends to the builder's program; equal
/// nodes are shared. Both sides of an operation must have one type: literals (double, int64_t, Dim) take the
/// other side's.
class Scalar {
 public:
  Scalar() = default;
  Scalar(Builder* builder, ExprId id) : builder_(builder), id_(id) {}
  Builder& builder() const { return *builder_; }
  ExprId id() const { return id_; }
  ElementType type() const;
  bool defined() const { return builder_ != nullptr; }

 private:
  Builder* builder_ = nullptr;
  ExprId id_ = none;
};

using Indices = std::vector<Scalar>;

/// A tensor of the program under construction: an operand or the result of a stage.
class TensorRef {
 public:
  TensorRef() = default;
  TensorRef(Builder* builder, TensorId id) : builder_(builder), id_(id) {}
  bool defined() const { return builder_ != nullptr; }
  TensorId id() const { return id_; }
  ElementType type() const;
  const Dims& dims() const;  ///< valid as long as the builder
  int rank() const { return static_cast<int>(dims().size()); }
  /// The element at the indices (i64 scalars), which must be in bounds whenever it is evaluated: the
  /// interpreter checks, and a violation by data (an index input) is reported as the user's error.
  Scalar operator()(const Indices& indices) const;
  /// Guarded load: `otherwise` (converted to the tensor's type) where guard is false; the tensor is not
  /// touched there.
  Scalar guarded(const Indices& indices, const Scalar& guard, const Scalar& otherwise) const;
  /// guarded by 0 <= index < size in every dimension.
  Scalar padded(const Indices& indices, const Scalar& otherwise) const;
  Scalar padded(const Indices& indices, double otherwise) const;

 private:
  Builder* builder_ = nullptr;
  TensorId id_ = none;
};

/// Appends stages to a program. One builder makes one program.
class Builder {
 public:
  explicit Builder(std::string name);
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  /// Declares operand number `position`; positions that are never declared are unread.
  TensorRef operand(int position, ElementType type, const Dims& dims, const std::string& name = {});
  /// Appends an output.
  void output(const TensorRef& tensor);
  /// Withdraws the last output, for a definition that goes on from another one's result.
  TensorRef take_output();

  Scalar real(ElementType type, double value);
  Scalar integer(int64_t value, ElementType type = ElementType::i64);
  Scalar boolean(bool value) { return integer(value, ElementType::boolean); }
  Scalar extent(const Dim& dim);  ///< i64
  /// A literal of any type: rounded or wrapped to it.
  Scalar literal(ElementType type, double value);

  using MapBody = std::function<Scalar(const Indices&)>;
  using ReduceBody = std::function<Scalar(const Indices& axes, const Indices& reduce_axes)>;

  /// result[i...] = body(i...).
  TensorRef map(const Dims& dims, const MapBody& body, const std::string& name = {});
  /// The same over `axes` merged into dimensions by `groups` (Stage::groups); body gets the axes.
  TensorRef map_grouped(const Dims& axes, const std::vector<std::vector<int>>& groups, const MapBody& body,
                        const std::string& name = {});
  TensorRef reduce(Monoid::Kind kind, const Dims& dims, const Dims& reduce_dims, const ReduceBody& body,
                   const std::string& name = {});
  /// reduce over `axes` merged into dimensions by `groups` (Stage::groups); body gets the axes.
  TensorRef reduce_grouped(Monoid::Kind kind, const Dims& axes, const std::vector<std::vector<int>>& groups,
                           const Dims& reduce_dims, const ReduceBody& body, const std::string& name = {});
  TensorRef sum(const Dims& dims, const Dims& reduce_dims, const ReduceBody& body) {
    return reduce(Monoid::Kind::sum, dims, reduce_dims, body);
  }
  /// Reduction over tuples. identity: one literal per component (its type is the component's). combine(left,
  /// right) gives the new tuple. Results in the order of components.
  std::vector<TensorRef> reduce_tuple(
      const Dims& dims, const Dims& reduce_dims, const std::vector<Scalar>& identity,
      const std::function<std::vector<Scalar>(const Indices& axes, const Indices& reduce_axes)>& body,
      const std::function<std::vector<Scalar>(const std::vector<Scalar>& left,
                                              const std::vector<Scalar>& right)>& combine,
      const std::string& name = {});
  /// See Stage: body gives {target indices, update value, guard or an undefined Scalar}.
  struct Update {
    Indices target;
    Scalar value;
    Scalar guard;
  };
  TensorRef scatter(const TensorRef& base, const Dims& update_dims, ScatterCombine combine,
                    const std::function<Update(const Indices&)>& body, const std::string& name = {});
  /// See Stage. `step` builds the step program: it gets its builder (where `time()` is the step's index), the
  /// captured tensors and the states, and returns the new states and the emitted tensors. A new state must
  /// have the dims and the type of the initial one. Results: final states, then stacked emitted tensors
  /// [length, ...].
  struct StepResult {
    std::vector<TensorRef> states;
    std::vector<TensorRef> emitted;
  };
  std::vector<TensorRef> scan(
      const Dim& length, const std::vector<TensorRef>& captures, const std::vector<TensorRef>& initial,
      const std::function<StepResult(Builder& step, const std::vector<TensorRef>& captures,
                                     const std::vector<TensorRef>& states)>& step,
      const std::string& name = {});
  Scalar time();
  std::vector<TensorRef> opaque(const std::string& function, const std::vector<TensorRef>& arguments,
                                const std::vector<std::pair<ElementType, Dims>>& results,
                                std::shared_ptr<const void> payload = {});
  /// A copy of `x` under new dims of equal product, as a map over common named factors; division and modulo
  /// appear only inside groups of dimensions whose factors do not align.
  TensorRef reshape(const TensorRef& x, const Dims& dims);

  ExprId append(Expr expr);  ///< hash-consed, with constants folded for integer index arithmetic
  const Program& program() const { return program_; }
  Program finish() { return std::move(program_); }

 private:
  class Scope;
  TensorId declare(ElementType type, const Dims& dims, const std::string& name);
  Indices axes_of(size_t first, size_t count);
  ExprId intern(Expr expr);
  ExprId simplify_integer(const Expr& expr);
  ExprId simplify_cast(const Expr& expr);
  ExprId literal_id(ElementType type, int64_t value);
  std::optional<Dim> as_dim(ExprId id) const;
  std::optional<std::pair<Dim, Dim>> index_range(ExprId id, int depth = 0) const;
  friend class TensorRef;
  friend class Scalar;
  Program program_;
  std::deque<Dims> dims_;  ///< of every tensor; unlike those in the program they stay where they are
  ExpressionPool pool_;
  std::unordered_set<std::string> names_;
  Dims scope_;  ///< extents of the axes of the stage whose body is being built
};

Scalar binary(ScalarOp op, const Scalar& a, const Scalar& b);
Scalar unary(ScalarOp op, const Scalar& a);
Scalar select(const Scalar& condition, const Scalar& if_true, const Scalar& if_false);
Scalar cast(ElementType type, const Scalar& a);  ///< no node when the type is unchanged
Scalar cast_saturate(ElementType type, const Scalar& a);

#define AXRUN_SCALAR_BINARY(name, op)                                                                 \
  inline Scalar name(const Scalar& a, const Scalar& b) { return binary(ScalarOp::op, a, b); }         \
  inline Scalar name(const Scalar& a, double b) { return name(a, a.builder().literal(a.type(), b)); } \
  inline Scalar name(double a, const Scalar& b) { return name(b.builder().literal(b.type(), a), b); } \
  inline Scalar name(const Scalar& a, const Dim& b) { return name(a, a.builder().extent(b)); }        \
  inline Scalar name(const Scalar& a, int64_t b) {                                                    \
    return name(a, is_float(a.type()) ? a.builder().literal(a.type(), static_cast<double>(b))         \
                                      : a.builder().integer(b, a.type()));                            \
  }                                                                                                   \
  inline Scalar name(const Scalar& a, int b) { return name(a, static_cast<int64_t>(b)); }
AXRUN_SCALAR_BINARY(operator+, add)
AXRUN_SCALAR_BINARY(operator-, sub)
AXRUN_SCALAR_BINARY(operator*, mul)
AXRUN_SCALAR_BINARY(operator/, div)
AXRUN_SCALAR_BINARY(floor_div, floor_div)
AXRUN_SCALAR_BINARY(floor_mod, floor_mod)
AXRUN_SCALAR_BINARY(remainder, remainder)
AXRUN_SCALAR_BINARY(pow, pow)
AXRUN_SCALAR_BINARY(min, min)
AXRUN_SCALAR_BINARY(max, max)
AXRUN_SCALAR_BINARY(operator==, equal)
AXRUN_SCALAR_BINARY(operator!=, not_equal)
AXRUN_SCALAR_BINARY(operator<, less)
AXRUN_SCALAR_BINARY(operator<=, less_equal)
AXRUN_SCALAR_BINARY(operator>, greater)
AXRUN_SCALAR_BINARY(operator>=, greater_equal)
#undef AXRUN_SCALAR_BINARY
inline Scalar logical_and(const Scalar& a, const Scalar& b) { return binary(ScalarOp::logical_and, a, b); }
inline Scalar logical_or(const Scalar& a, const Scalar& b) { return binary(ScalarOp::logical_or, a, b); }
inline Scalar operator!(const Scalar& a) { return unary(ScalarOp::logical_not, a); }
inline Scalar operator-(const Scalar& a) { return unary(ScalarOp::neg, a); }
inline Scalar exp(const Scalar& a) { return unary(ScalarOp::exp, a); }
inline Scalar log(const Scalar& a) { return unary(ScalarOp::log, a); }
inline Scalar sqrt(const Scalar& a) { return unary(ScalarOp::sqrt, a); }
inline Scalar tanh(const Scalar& a) { return unary(ScalarOp::tanh, a); }
inline Scalar erf(const Scalar& a) { return unary(ScalarOp::erf, a); }
inline Scalar abs(const Scalar& a) { return unary(ScalarOp::abs, a); }
inline Scalar floor(const Scalar& a) { return unary(ScalarOp::floor, a); }
inline Scalar ceil(const Scalar& a) { return unary(ScalarOp::ceil, a); }
inline Scalar round_even(const Scalar& a) { return unary(ScalarOp::round_even, a); }

}  // namespace axrun::ir
