#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ir/dim.h"
#include "ir/types.h"

namespace axrun::ir {

/// A tensor expression: what one operator (or a fused group of them) means, as a DAG of named stages over
/// named tensors. This is the second of axrun's four languages; the interpreter (ir/evaluate.h) gives it its
/// semantics.
///
/// Scalar arithmetic is over the reals for float types (the interpreter computes in float64 and rounds only
/// at `cast` and when a result is stored to a narrow type) and exact, wrapped to the type's width, for
/// integers.

using ExprId = int32_t;
using TensorId = int32_t;
inline constexpr int32_t none = -1;

enum class ScalarOp : uint8_t {
  // Leaves.
  real,       ///< Expr::real
  integer,    ///< Expr::integer, any integer type or boolean
  extent,     ///< Expr::dim as i64
  axis,       ///< index along axis number Expr::integer of the stage (its axes, then its reduce_axes), i64
  time,       ///< index of the innermost enclosing scan, i64
  parameter,  ///< in a monoid's combine: 0..n-1 the left state, n..2n-1 the right one
  load,       ///< tensor Expr::integer at Expr::indices; args = {guard, otherwise} or {none, none}
  // Structure.
  select,  ///< args = {condition, if true, if false}; both sides are evaluated
  cast,    ///< args[0] converted to Expr::type: rounded, wrapped, or truncated towards zero from a float
  cast_saturate,  ///< the same, but values out of range go to the nearest bound, and to f8 as ONNX's
                  ///< saturate=1
  // One argument. Float only, except neg, abs, sign (any number) and the logical ones.
  neg,
  abs,
  sign,
  floor,
  ceil,
  round_even,
  truncate,
  sqrt,
  exp,
  log,
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  sinh,
  cosh,
  tanh,
  asinh,
  acosh,
  atanh,
  erf,
  is_nan,
  is_inf,
  logical_not,
  bit_not,
  // Two arguments of one type. min and max return NaN when either is NaN.
  add,
  sub,
  mul,
  div,  ///< real quotient; integers truncate towards zero; integer x / 0 is an error of the user's input
  floor_div,  ///< integers, towards minus infinity
  floor_mod,  ///< sign of the divisor (integers and floats)
  remainder,  ///< sign of the dividend, as C's fmod and %
  pow,
  min,
  max,
  atan2,
  logical_and,
  logical_or,
  logical_xor,
  bit_and,
  bit_or,
  bit_xor,
  shift_left,
  shift_right,  ///< unsigned semantics for unsigned types; shifts of the width or more give 0
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,  ///< boolean results; ordered comparisons are false on NaN
};

struct Expr {
  ScalarOp op = ScalarOp::integer;
  ElementType type = ElementType::i64;
  std::array<ExprId, 3> args = {none, none, none};
  int64_t integer = 0;
  double real = 0;
  Dim dim;
  std::vector<ExprId> indices;
};

struct Axis {
  std::string name;
  Dim extent;
};

/// How a reduction combines tuples of values. It must be associative with the identity as neutral element;
/// the interpreter folds in lexicographic order of the reduce axes.
struct Monoid {
  enum class Kind : uint8_t { sum, product, min, max, tuple };
  Kind kind = Kind::sum;
  /// For `tuple` only: one expression per component, over `parameter` leaves in combine and none in identity.
  std::vector<ExprId> identity;
  std::vector<ExprId> combine;
};

struct Program;

enum class StageKind : uint8_t { map, reduce, scan, scatter, opaque };
enum class ScatterCombine : uint8_t { assign, add, mul, min, max };

/// One step of a program. Which members are used is stated per kind; the grammar (ir/grammar.h) checks it.
struct Stage {
  StageKind kind = StageKind::map;
  std::string name;
  std::vector<TensorId> results;

  /// map, reduce: the iteration space of the results. scatter: the space of the updates.
  std::vector<Axis> axes;
  /// map, reduce: dimension d of every result is the row-major merge of the axes groups[d]; every axis
  /// appears once, in order. So a Reshape whose factors align is a plain copy over named factors, without
  /// division or modulo. An empty group is a dimension of size 1.
  std::vector<std::vector<int>> groups;
  /// map, reduce: one value per result. scatter: the one update value.
  std::vector<ExprId> body;

  /// reduce only.
  std::vector<Axis> reduce_axes;
  Monoid monoid;

  /// scatter: results[0] starts as a copy of `base`, then for every point of `axes`, in lexicographic order,
  /// the element at `target` (one index per dimension of base) is combined with body[0]. guard (or none)
  /// skips points.
  TensorId base = none;
  std::vector<ExprId> target;
  ExprId guard = none;
  ScatterCombine combine = ScatterCombine::assign;

  /// scan: for time = 0 .. length-1, `step` maps (captures..., states...) to (new states..., emitted...). The
  /// results are the final states, then every emitted tensor stacked along a new leading axis of size length.
  Dim length;
  std::shared_ptr<const Program> step;
  std::vector<TensorId> captures;
  std::vector<TensorId> initial;

  /// opaque: a reference function of the closed list in ir/opaque.cpp, applied to `arguments`.
  std::string function;
  std::vector<TensorId> arguments;
  std::shared_ptr<const void> payload;  ///< constant parameters of the function, of the type the list states
};

struct TensorDecl {
  std::string name;
  ElementType type = ElementType::undefined;
  Dims dims;
};

struct Program {
  std::string name;
  std::vector<TensorDecl> tensors;
  /// Tensor of each operand position; none for an absent operand or one that is not read.
  std::vector<TensorId> operands;
  std::vector<TensorId> outputs;
  std::vector<Expr> exprs;
  std::vector<Stage> stages;  ///< in order of execution
};

inline const Expr& expr_of(const Program& program, ExprId id) {
  return program.exprs[static_cast<size_t>(id)];
}

}  // namespace axrun::ir
