// Scalar expressions of the builder: sharing of equal nodes, and the simplifications of integer arithmetic.
#include "ir/arithmetic.h"
#include "ir/builder.h"
#include "ir/error.h"

namespace axrun::ir {
namespace {

std::string mismatch(const Scalar& a, const Scalar& b) {
  return "'" + a.builder().program().name + "': values of types " + std::string(name_of(a.type())) + " and " +
         std::string(name_of(b.type())) + " are combined";
}

}  // namespace

ExprId Builder::intern(Expr expr) { return pool_.intern(program_.exprs, std::move(expr)); }

ExprId Builder::append(Expr expr) {
  ExprId simpler = none;
  if (expr.op == ScalarOp::cast || expr.op == ScalarOp::cast_saturate) {
    simpler = simplify_cast(expr);
  } else if (argument_count(expr.op) > 0 && expr.op != ScalarOp::load) {
    simpler = simplify_integer(expr);
  }
  return simpler != none ? simpler : intern(std::move(expr));
}

/// Casts of literals.
ExprId Builder::simplify_cast(const Expr& expr) {
  const Expr argument = program_.exprs[static_cast<size_t>(expr.args[0])];
  bool saturate = expr.op == ScalarOp::cast_saturate;
  if (expr.type == ElementType::string) return none;
  if (argument.op == ScalarOp::integer) {
    if (!is_float(expr.type)) {
      return literal_id(expr.type, integer_to_integer(argument.type, expr.type, argument.integer, saturate));
    }
    double value = integer_to_real(argument.type, argument.integer);
    return real(expr.type, real_to_real(expr.type, value, saturate)).id();
  }
  if (argument.op == ScalarOp::real) {
    if (!is_float(expr.type)) return literal_id(expr.type, integer_from_real(expr.type, argument.real));
    return real(expr.type, real_to_real(expr.type, argument.real, saturate)).id();
  }
  return none;
}

/// The Dim an i64 expression equals, if it is a literal or an extent.
std::optional<Dim> Builder::as_dim(ExprId id) const {
  const Expr& expr = program_.exprs[static_cast<size_t>(id)];
  if (expr.type != ElementType::i64) return std::nullopt;
  if (expr.op == ScalarOp::integer) return Dim(expr.integer);
  if (expr.op == ScalarOp::extent) return expr.dim;
  return std::nullopt;
}

/// Inclusive bounds of an index expression over the axes in scope.
std::optional<std::pair<Dim, Dim>> Builder::index_range(ExprId id, int depth) const {
  using Range = std::pair<Dim, Dim>;
  constexpr int deepest = 16;  // ranges of deeper expressions are not worth the time
  if (depth > deepest) return std::nullopt;
  if (auto dim = as_dim(id)) return Range(*dim, *dim);
  const Expr& expr = program_.exprs[static_cast<size_t>(id)];
  if (expr.op == ScalarOp::axis) {
    auto axis = static_cast<size_t>(expr.integer);
    if (axis >= scope_.size()) return std::nullopt;
    return Range(Dim(0), scope_[axis] - 1);
  }
  if (expr.op != ScalarOp::add && expr.op != ScalarOp::sub && expr.op != ScalarOp::mul &&
      expr.op != ScalarOp::floor_mod) {
    return std::nullopt;
  }
  auto a = index_range(expr.args[0], depth + 1);
  auto b = index_range(expr.args[1], depth + 1);
  if (!b) return std::nullopt;
  if (expr.op == ScalarOp::floor_mod) {
    auto divisor = b->first.constant();
    if (!divisor || *divisor <= 0 || b->first != b->second) return std::nullopt;
    return Range(Dim(0), Dim(*divisor - 1));
  }
  if (!a) return std::nullopt;
  if (expr.op == ScalarOp::add) return Range(a->first + b->first, a->second + b->second);
  if (expr.op == ScalarOp::sub) return Range(a->first - b->second, a->second - b->first);
  auto factor = b->first.constant();
  if (!factor || b->first != b->second) return std::nullopt;
  Range scaled(a->first * *factor, a->second * *factor);
  if (*factor < 0) std::swap(scaled.first, scaled.second);
  return scaled;
}

/// Literal arithmetic, neutral elements, and extents of i64. none when nothing applies.
ExprId Builder::simplify_integer(const Expr& expr) {
  const ExprId a = expr.args[0];
  const ExprId b = expr.args[1];
  const Expr left = program_.exprs[static_cast<size_t>(a)];
  const bool left_literal = left.op == ScalarOp::integer;

  if (expr.op == ScalarOp::select) {
    if (left_literal) return left.integer != 0 ? b : expr.args[2];
    return b == expr.args[2] ? b : none;
  }
  if (is_float(left.type) || left.type == ElementType::string) return none;
  if (argument_count(expr.op) == 1) {
    if (!left_literal) return none;
    return literal_id(expr.type, integer_unary(expr.op, left.type, left.integer));
  }
  const Expr right = program_.exprs[static_cast<size_t>(b)];
  const bool right_literal = right.op == ScalarOp::integer;
  if (left_literal && right_literal) {
    auto value = integer_binary(expr.op, left.type, left.integer, right.integer);
    return value ? literal_id(expr.type, *value) : none;
  }
  auto left_is = [&](int64_t value) { return left_literal && left.integer == value; };
  auto right_is = [&](int64_t value) { return right_literal && right.integer == value; };
  auto left_dim = as_dim(a);
  auto right_dim = as_dim(b);
  const bool both_dims = left_dim && right_dim;

  // 0 <= a < b, so that a / b is 0 and a mod b is a.
  auto left_below_right = [&] {
    if (!right_literal || right.integer <= 0 || left.type != ElementType::i64) return false;
    auto range = index_range(a);
    if (!range) return false;
    auto lowest = range->first.constant();
    auto highest = range->second.constant();
    return lowest && highest && *lowest >= 0 && *highest < right.integer;
  };

  // What has been bounded by `inner` and is bounded from the other side by something that lies beyond.
  auto right_decides = [&](ScalarOp inner) {
    if (!right_literal || left.op != inner || !is_signed_integer(left.type)) return false;
    const Expr& bound = program_.exprs[static_cast<size_t>(left.args[1])];
    if (bound.op != ScalarOp::integer) return false;
    return inner == ScalarOp::min ? bound.integer <= right.integer : bound.integer >= right.integer;
  };

  switch (expr.op) {
    case ScalarOp::add:
      if (left_is(0)) return b;
      if (right_is(0)) return a;
      if (both_dims) return extent(*left_dim + *right_dim).id();
      break;
    case ScalarOp::sub:
      if (right_is(0)) return a;
      if (a == b) return literal_id(expr.type, 0);
      if (both_dims) return extent(*left_dim - *right_dim).id();
      break;
    case ScalarOp::mul:
      if (left_is(0) || right_is(1)) return a;
      if (right_is(0) || left_is(1)) return b;
      if (both_dims) return extent(*left_dim * *right_dim).id();
      break;
    case ScalarOp::div:
      if (right_is(1)) return a;
      break;
    case ScalarOp::floor_div:
      if (right_is(1)) return a;
      if (left_below_right()) return literal_id(expr.type, 0);
      if (both_dims && right_literal && right.integer > 0)
        return extent(floor_div(*left_dim, right.integer)).id();
      break;
    case ScalarOp::floor_mod:
      if (right_is(1)) return literal_id(expr.type, 0);
      if (left_below_right()) return a;
      if (both_dims && right_literal && right.integer > 0)
        return extent(floor_mod(*left_dim, right.integer)).id();
      break;
    case ScalarOp::min:
      if (a == b) return a;
      if (both_dims) return extent(min(*left_dim, *right_dim)).id();
      if (right_decides(ScalarOp::max)) return b;
      break;
    case ScalarOp::max:
      if (a == b) return a;
      if (both_dims) return extent(max(*left_dim, *right_dim)).id();
      if (right_decides(ScalarOp::min)) return b;
      break;
    case ScalarOp::logical_and:
      if (left_is(0) || right_is(1)) return a;
      if (right_is(0) || left_is(1) || a == b) return b;
      break;
    case ScalarOp::logical_or:
      if (left_is(1) || right_is(0)) return a;
      if (right_is(1) || left_is(0) || a == b) return b;
      break;
    default:
      break;
  }
  return none;
}

Scalar binary(ScalarOp op, const Scalar& a, const Scalar& b) {
  if (a.type() != b.type()) throw Error(Fault::model, mismatch(a, b));
  Expr expr;
  expr.op = op;
  expr.type = gives_boolean(op) ? ElementType::boolean : a.type();
  expr.args = {a.id(), b.id(), none};
  return {&a.builder(), a.builder().append(std::move(expr))};
}

Scalar unary(ScalarOp op, const Scalar& a) {
  Expr expr;
  expr.op = op;
  expr.type = gives_boolean(op) ? ElementType::boolean : a.type();
  expr.args = {a.id(), none, none};
  return {&a.builder(), a.builder().append(std::move(expr))};
}

Scalar select(const Scalar& condition, const Scalar& if_true, const Scalar& if_false) {
  if (if_true.type() != if_false.type()) throw Error(Fault::model, mismatch(if_true, if_false));
  AXRUN_ASSERT(condition.type() == ElementType::boolean);
  Expr expr;
  expr.op = ScalarOp::select;
  expr.type = if_true.type();
  expr.args = {condition.id(), if_true.id(), if_false.id()};
  return {&if_true.builder(), if_true.builder().append(std::move(expr))};
}

Scalar cast(ElementType type, const Scalar& a) {
  if (a.type() == type) return a;
  if (type == ElementType::string || a.type() == ElementType::string) {
    throw Error(Fault::model, mismatch(a, a) + " where " + std::string(name_of(type)) + " is needed");
  }
  Expr expr;
  expr.op = ScalarOp::cast;
  expr.type = type;
  expr.args = {a.id(), none, none};
  return {&a.builder(), a.builder().append(std::move(expr))};
}

Scalar cast_saturate(ElementType type, const Scalar& a) {
  if (a.type() == type || type == ElementType::string || a.type() == ElementType::string)
    return cast(type, a);
  Expr expr;
  expr.op = ScalarOp::cast_saturate;
  expr.type = type;
  expr.args = {a.id(), none, none};
  return {&a.builder(), a.builder().append(std::move(expr))};
}

}  // namespace axrun::ir
