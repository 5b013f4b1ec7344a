// Programs over small integer tensors whose elements are expressions of named sizes: what models compute from
// Shape.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/arithmetic.h"
#include "ir/error.h"
#include "ir/evaluate.h"

namespace axrun::ir {
namespace {

/// An exact value: of an integer or boolean expression `numerator` (denominator 1), of a float one the
/// quotient. Rationals are enough for what exporters do to sizes: scale by 0.5 or 2, round, cast back.
struct Value {
  Dim numerator;
  int64_t denominator = 1;
  bool is_constant() const { return numerator.is_constant(); }
};
using Maybe = std::optional<Value>;

/// Row-major elements of a tensor of constant shape.
struct Elements {
  std::vector<int64_t> shape;
  std::vector<Maybe> values;
};

/// Results with more elements than this are not worth following.
constexpr int64_t largest_tensor = 4096;
constexpr int64_t largest_space = 65536;
constexpr int64_t largest_denominator = int64_t{1} << 20;

bool at_least(const Dim& a, const Dim& b) { return max(a - b, Dim(0)) == a - b; }

/// true or false where certain.
std::optional<bool> less(const Dim& a, const Dim& b) {
  if (at_least(b, a + 1)) return true;
  if (at_least(a, b)) return false;
  return std::nullopt;
}

std::optional<bool> equal(const Dim& a, const Dim& b) {
  if (a == b) return true;
  if (at_least(a, b + 1) || at_least(b, a + 1)) return false;
  return std::nullopt;
}

Maybe truth(std::optional<bool> value) {
  if (!value) return std::nullopt;
  return Value{Dim(*value ? 1 : 0), 1};
}

Maybe rational(const Dim& numerator, int64_t denominator) {
  if (denominator < 0) return rational(Dim(0) - numerator, -denominator);
  if (denominator == 0 || denominator > largest_denominator) return std::nullopt;
  if (floor_mod(numerator, Dim(denominator)) == Dim(0))
    return Value{floor_div(numerator, Dim(denominator)), 1};
  return Value{numerator, denominator};
}

/// A double as a quotient with a power of two, if that is exact and small.
Maybe from_real(double value) {
  if (!std::isfinite(value)) return std::nullopt;
  for (int64_t denominator = 1; denominator <= largest_denominator; denominator *= 2) {
    const double scaled = value * static_cast<double>(denominator);
    if (std::fabs(scaled) > 9007199254740992.0) return std::nullopt;  // 2^53
    if (scaled == std::trunc(scaled)) return rational(Dim(static_cast<int64_t>(scaled)), denominator);
  }
  return std::nullopt;
}

Maybe floor_of(const Value& a) { return Value{floor_div(a.numerator, Dim(a.denominator)), 1}; }

Maybe truncated(const Value& a) {
  if (a.denominator == 1) return a;
  if (at_least(a.numerator, Dim(0))) return floor_of(a);
  if (at_least(Dim(0), a.numerator)) return Value{ceil_div(a.numerator, Dim(a.denominator)), 1};
  return std::nullopt;
}

/// Arithmetic of exact values; integers of a type wrap only where constant, sizes never reach a type's
/// bounds.
class Arithmetic {
 public:
  Arithmetic(ScalarOp op, ElementType type) : op_(op), type_(type) {}

  Maybe unary(const Value& a) const {
    switch (op_) {
      case ScalarOp::neg:
        return Value{Dim(0) - a.numerator, a.denominator};
      case ScalarOp::abs:
        if (at_least(a.numerator, Dim(0))) return a;
        if (at_least(Dim(0), a.numerator)) return Value{Dim(0) - a.numerator, a.denominator};
        return std::nullopt;
      case ScalarOp::sign:
        if (at_least(a.numerator, Dim(1))) return Value{Dim(1), 1};
        if (at_least(Dim(-1), a.numerator)) return Value{Dim(-1), 1};
        return a.numerator == Dim(0) ? Maybe(a) : std::nullopt;
      case ScalarOp::floor:
        return floor_of(a);
      case ScalarOp::ceil:
        return Value{ceil_div(a.numerator, Dim(a.denominator)), 1};
      case ScalarOp::truncate:
        return truncated(a);
      case ScalarOp::round_even:
        return a.denominator == 1 ? Maybe(a) : std::nullopt;
      case ScalarOp::is_nan:
      case ScalarOp::is_inf:
        return Value{Dim(0), 1};
      case ScalarOp::logical_not:
        return truth(equal(a.numerator, Dim(0)));
      default:
        return std::nullopt;
    }
  }

  Maybe binary(const Maybe& a, const Maybe& b) const {
    if (op_ == ScalarOp::logical_and || op_ == ScalarOp::logical_or) return logical(a, b);
    if (!a || !b) return op_ == ScalarOp::mul ? annihilated(a, b) : std::nullopt;
    if (!is_float(type_) && a->is_constant() && b->is_constant()) {
      auto value = integer_binary(op_, type_, a->numerator.value(), b->numerator.value());
      return value ? Maybe(Value{Dim(*value), 1}) : std::nullopt;
    }
    return exact(*a, *b);
  }

 private:
  static std::optional<bool> truth_of(const Maybe& a) {
    if (!a) return std::nullopt;
    auto zero = equal(a->numerator, Dim(0));
    return zero ? std::optional<bool>(!*zero) : std::nullopt;
  }

  Maybe logical(const Maybe& a, const Maybe& b) const {
    const bool decisive = op_ == ScalarOp::logical_or;
    auto left = truth_of(a);
    auto right = truth_of(b);
    if ((left && *left == decisive) || (right && *right == decisive)) return truth(decisive);
    return left && right ? truth(!decisive) : std::nullopt;
  }

  Maybe annihilated(const Maybe& a, const Maybe& b) const {
    auto zero = [](const Maybe& value) { return value && value->numerator == Dim(0); };
    return !is_float(type_) && (zero(a) || zero(b)) ? Maybe(Value{Dim(0), 1}) : std::nullopt;
  }

  Maybe exact(const Value& a, const Value& b) const {
    const Dim left = a.numerator * Dim(b.denominator);
    const Dim right = b.numerator * Dim(a.denominator);
    const int64_t common = a.denominator * b.denominator;
    switch (op_) {
      case ScalarOp::add:
        return rational(left + right, common);
      case ScalarOp::sub:
        return rational(left - right, common);
      case ScalarOp::mul:
        return rational(a.numerator * b.numerator, common);
      case ScalarOp::min:
        return rational(min(left, right), common);
      case ScalarOp::max:
        return rational(max(left, right), common);
      case ScalarOp::equal:
        return truth(equal(left, right));
      case ScalarOp::not_equal:
        return truth(inverted(equal(left, right)));
      case ScalarOp::less:
        return truth(less(left, right));
      case ScalarOp::less_equal:
        return truth(inverted(less(right, left)));
      case ScalarOp::greater:
        return truth(less(right, left));
      case ScalarOp::greater_equal:
        return truth(inverted(less(left, right)));
      case ScalarOp::div:
      case ScalarOp::floor_div:
      case ScalarOp::floor_mod:
      case ScalarOp::remainder:
        return divide(left, right);
      default:
        return std::nullopt;
    }
  }

  static std::optional<bool> inverted(std::optional<bool> value) {
    return value ? std::optional<bool>(!*value) : std::nullopt;
  }

  Maybe divide(const Dim& a, const Dim& b) const {
    if (is_float(type_)) {
      if (op_ != ScalarOp::div) return std::nullopt;
      if (auto divisor = b.constant()) return *divisor == 0 ? std::nullopt : rational(a, *divisor);
      if (!at_least(b, Dim(1)) || floor_mod(a, b) != Dim(0)) return std::nullopt;
      return Value{floor_div(a, b), 1};
    }
    if (!at_least(b, Dim(1)) && !(b.is_constant() && b.value() != 0)) return std::nullopt;
    // Truncation is rounding down where both sides have one sign, or nothing is rounded.
    const Dim modulo = floor_mod(a, b);
    const bool towards_zero = op_ == ScalarOp::div || op_ == ScalarOp::remainder;
    if (towards_zero && modulo != Dim(0) && !(at_least(a, Dim(0)) && at_least(b, Dim(1))))
      return std::nullopt;
    const bool quotient = op_ == ScalarOp::div || op_ == ScalarOp::floor_div;
    return Value{quotient ? floor_div(a, b) : modulo, 1};
  }

  ScalarOp op_;
  ElementType type_;
};

class SymbolicEvaluator {
 public:
  SymbolicEvaluator(const Program& program, const std::vector<std::optional<Dims>>& operands)
      : program_(program), tensors_(program.tensors.size()) {
    for (size_t k = 0; k < program.operands.size() && k < operands.size(); ++k) {
      const TensorId id = program.operands[k];
      if (id == none || !operands[k]) continue;
      Elements elements;
      if (!shape_of(id, elements) || count_of(elements.shape) != static_cast<int64_t>(operands[k]->size()))
        continue;
      for (const Dim& element : *operands[k]) elements.values.push_back(Value{element, 1});
      tensors_[static_cast<size_t>(id)] = std::move(elements);
    }
    for (const Stage& stage : program.stages) run(stage);
  }

  std::optional<Dims> output(size_t k, int64_t limit) const {
    const TensorId id = program_.outputs[k];
    const auto& tensor = tensors_[static_cast<size_t>(id)];
    const ElementType type = program_.tensors[static_cast<size_t>(id)].type;
    if (!tensor || is_float(type) || static_cast<int64_t>(tensor->values.size()) > limit) return std::nullopt;
    Dims dims;
    for (const Maybe& value : tensor->values) {
      if (!value || value->denominator != 1) return std::nullopt;
      dims.push_back(value->numerator);
    }
    return dims;
  }

 private:
  bool shape_of(TensorId id, Elements& elements) const {
    auto shape = constant_dims(program_.tensors[static_cast<size_t>(id)].dims);
    if (!shape || count_of(*shape) > largest_tensor) return false;
    elements.shape = *shape;
    return true;
  }

  /// Number of points, or more than any limit.
  static int64_t count_of(const std::vector<int64_t>& extents) {
    int64_t count = 1;
    for (int64_t extent : extents) {
      if (extent < 0) return std::numeric_limits<int64_t>::max();
      if (extent == 0) return 0;
      if (__builtin_mul_overflow(count, extent, &count)) return std::numeric_limits<int64_t>::max();
    }
    return count;
  }

  void run(const Stage& stage) {
    if (stage.kind != StageKind::map && stage.kind != StageKind::reduce) return;
    Dims extents;
    for (const Axis& axis : stage.axes) extents.push_back(axis.extent);
    for (const Axis& axis : stage.reduce_axes) extents.push_back(axis.extent);
    auto space = constant_dims(extents);
    std::vector<Elements> results(stage.results.size());
    for (size_t k = 0; k < results.size(); ++k) {
      if (!shape_of(stage.results[k], results[k])) return;
    }
    if (!space || count_of(*space) > largest_space) return;
    const std::vector<int64_t> axes(space->begin(),
                                    space->begin() + static_cast<std::ptrdiff_t>(stage.axes.size()));
    const std::vector<int64_t> reduce_axes(space->begin() + static_cast<std::ptrdiff_t>(stage.axes.size()),
                                           space->end());
    const int64_t points = count_of(axes);
    const int64_t reduce_points = count_of(reduce_axes);
    for (int64_t point = 0; point < points; ++point) {
      std::vector<Maybe> state;
      if (stage.kind == StageKind::reduce) state = identity(stage);
      for (int64_t inner = 0; inner < reduce_points; ++inner) {
        begin(*space, point * reduce_points + inner);
        std::vector<Maybe> values;
        for (ExprId id : stage.body) values.push_back(value(id));
        state = stage.kind == StageKind::map ? values : combined(stage, state, values);
      }
      for (size_t k = 0; k < results.size(); ++k) results[k].values.push_back(state[k]);
    }
    for (size_t k = 0; k < results.size(); ++k) {
      tensors_[static_cast<size_t>(stage.results[k])] = std::move(results[k]);
    }
  }

  /// Starts the evaluation of expressions at one point of a space.
  void begin(const std::vector<int64_t>& space, int64_t flat) {
    point_.assign(space.size(), 0);
    for (size_t axis = space.size(); axis-- > 0;) {
      point_[axis] = flat % space[axis];
      flat /= space[axis];
    }
    known_.assign(program_.exprs.size(), {});
  }

  std::vector<Maybe> identity(const Stage& stage) {
    parameters_.clear();
    begin({}, 0);
    std::vector<Maybe> state;
    if (stage.monoid.kind == Monoid::Kind::tuple) {
      for (ExprId id : stage.monoid.identity) state.push_back(value(id));
      return state;
    }
    const ElementType type = program_.exprs[static_cast<size_t>(stage.body[0])].type;
    switch (stage.monoid.kind) {
      case Monoid::Kind::sum:
        return {Value{Dim(0), 1}};
      case Monoid::Kind::product:
        return {Value{Dim(1), 1}};
      default:
        break;
    }
    if (is_float(type)) return {std::nullopt};
    const bool largest = stage.monoid.kind == Monoid::Kind::min;
    return {Value{Dim(largest ? integer_max(type) : integer_min(type)), 1}};
  }

  std::vector<Maybe> combined(const Stage& stage, const std::vector<Maybe>& left,
                              const std::vector<Maybe>& right) {
    if (stage.monoid.kind == Monoid::Kind::tuple) {
      parameters_ = left;
      parameters_.insert(parameters_.end(), right.begin(), right.end());
      known_.assign(program_.exprs.size(), {});
      std::vector<Maybe> state;
      for (ExprId id : stage.monoid.combine) state.push_back(value(id));
      parameters_.clear();
      return state;
    }
    ScalarOp op = ScalarOp::add;
    if (stage.monoid.kind == Monoid::Kind::product) op = ScalarOp::mul;
    if (stage.monoid.kind == Monoid::Kind::min) op = ScalarOp::min;
    if (stage.monoid.kind == Monoid::Kind::max) op = ScalarOp::max;
    const ElementType type = program_.exprs[static_cast<size_t>(stage.body[0])].type;
    // The bounds of the type are neutral, whatever the other side is.
    const bool neutral =
        (op == ScalarOp::min || op == ScalarOp::max) && left[0] && !is_float(type) &&
        left[0]->numerator == Dim(op == ScalarOp::min ? integer_max(type) : integer_min(type));
    return {neutral ? right[0] : Arithmetic(op, type).binary(left[0], right[0])};
  }

  /// The value at the current point. Expressions are computed in order of need, each once.
  Maybe value(ExprId root) {
    std::vector<ExprId> open = {root};
    while (!open.empty()) {
      const ExprId id = open.back();
      Memo& memo = known_[static_cast<size_t>(id)];
      const Expr& expr = program_.exprs[static_cast<size_t>(id)];
      if (memo.done) {
        open.pop_back();
      } else if (!memo.opened) {
        memo.opened = true;
        for (ExprId argument : expr.args) {
          if (argument != none) open.push_back(argument);
        }
        open.insert(open.end(), expr.indices.begin(), expr.indices.end());
      } else {
        memo.value = compute(expr);
        memo.done = true;
        open.pop_back();
      }
    }
    return known_[static_cast<size_t>(root)].value;
  }

  const Maybe& argument(const Expr& expr, size_t k) const {
    return known_[static_cast<size_t>(expr.args[k])].value;
  }

  Maybe compute(const Expr& expr) const {
    switch (expr.op) {
      case ScalarOp::real:
        return from_real(expr.real);
      case ScalarOp::integer:
        return Value{Dim(expr.integer), 1};
      case ScalarOp::extent:
        return Value{expr.dim, 1};
      case ScalarOp::axis: {
        auto axis = static_cast<size_t>(expr.integer);
        return axis < point_.size() ? Maybe(Value{Dim(point_[axis]), 1}) : std::nullopt;
      }
      case ScalarOp::parameter: {
        auto k = static_cast<size_t>(expr.integer);
        return k < parameters_.size() ? parameters_[k] : std::nullopt;
      }
      case ScalarOp::load:
        return load(expr);
      case ScalarOp::select:
        return select(expr);
      case ScalarOp::cast:
      case ScalarOp::cast_saturate:
        return cast(expr);
      case ScalarOp::time:
        return std::nullopt;
      default:
        break;
    }
    const ElementType type = program_.exprs[static_cast<size_t>(expr.args[0])].type;
    if (type == ElementType::u64 || type == ElementType::string) return std::nullopt;
    const Arithmetic arithmetic(expr.op, type);
    if (argument_count(expr.op) == 2) return arithmetic.binary(argument(expr, 0), argument(expr, 1));
    return argument(expr, 0) ? arithmetic.unary(*argument(expr, 0)) : std::nullopt;
  }

  Maybe load(const Expr& expr) const {
    if (expr.args[0] != none) {
      const Maybe& guard = argument(expr, 0);
      auto excluded = guard ? equal(guard->numerator, Dim(0)) : std::nullopt;
      if (!excluded) return std::nullopt;
      if (*excluded) return argument(expr, 1);
    }
    const auto& tensor = tensors_[static_cast<size_t>(expr.integer)];
    if (!tensor || tensor->shape.size() != expr.indices.size()) return std::nullopt;
    int64_t position = 0;
    for (size_t d = 0; d < expr.indices.size(); ++d) {
      const Maybe& index = known_[static_cast<size_t>(expr.indices[d])].value;
      if (!index || !index->is_constant()) return std::nullopt;
      const int64_t at = index->numerator.value();
      if (at < 0 || at >= tensor->shape[d]) return std::nullopt;
      position = position * tensor->shape[d] + at;
    }
    return tensor->values[static_cast<size_t>(position)];
  }

  Maybe select(const Expr& expr) const {
    const Maybe& condition = argument(expr, 0);
    auto otherwise = condition ? equal(condition->numerator, Dim(0)) : std::nullopt;
    if (otherwise) return argument(expr, *otherwise ? 2 : 1);
    const Maybe& a = argument(expr, 1);
    const Maybe& b = argument(expr, 2);
    return a && b && a->denominator == b->denominator && a->numerator == b->numerator ? a : std::nullopt;
  }

  Maybe cast(const Expr& expr) const {
    const Maybe& a = argument(expr, 0);
    if (!a) return std::nullopt;
    const ElementType from = program_.exprs[static_cast<size_t>(expr.args[0])].type;
    if (expr.type == ElementType::boolean) {
      auto zero = equal(a->numerator, Dim(0));
      return zero ? truth(!*zero) : std::nullopt;
    }
    if (is_float(expr.type)) {
      // Sizes are taken as exact in f32 and f64 (below 2^24); a narrower type may round them.
      const bool exact = expr.type == ElementType::f32 || expr.type == ElementType::f64;
      return exact ? a : std::nullopt;
    }
    Maybe whole = is_float(from) ? truncated(*a) : a;
    if (!whole) return std::nullopt;
    auto constant = whole->numerator.constant();
    if (constant) {
      // Both casts of a float saturate.
      const bool saturate = is_float(from) || expr.op == ScalarOp::cast_saturate;
      return Value{Dim(integer_to_integer(from, expr.type, *constant, saturate)), 1};
    }
    const bool roomy = expr.type == ElementType::i64 || expr.type == ElementType::i32;
    return roomy ? whole : std::nullopt;
  }

  struct Memo {
    bool opened = false;
    bool done = false;
    Maybe value;
  };
  const Program& program_;
  std::vector<std::optional<Elements>> tensors_;
  std::vector<int64_t> point_;
  std::vector<Maybe> parameters_;
  std::vector<Memo> known_;
};

}  // namespace

std::vector<std::optional<Dims>> evaluate_symbolic(const Program& program,
                                                   const std::vector<std::optional<Dims>>& operands,
                                                   int64_t limit) {
  const SymbolicEvaluator evaluator(program, operands);
  std::vector<std::optional<Dims>> outputs;
  for (size_t k = 0; k < program.outputs.size(); ++k) outputs.push_back(evaluator.output(k, limit));
  return outputs;
}

}  // namespace axrun::ir
