// Programs over small integer tensors whose elements are expressions of named sizes: what models compute from
// Shape.
#include <algorithm>
#include <limits>

#include "ir/arithmetic.h"
#include "ir/error.h"
#include "ir/evaluate.h"
#include "ir/grammar.h"
#include "ir/size_value.h"
#include "ir/sizes_at_hand.h"

namespace axrun::ir {
namespace {

using Maybe = MaybeSize;

/// Row-major elements of a tensor of constant shape.
struct Elements {
  std::vector<int64_t> shape;
  std::vector<Maybe> values;
};

/// Results with more elements than this are not worth following.
constexpr int64_t largest_tensor = 4096;
constexpr int64_t largest_space = 65536;

class SymbolicEvaluator {
 public:
  /// Evaluates what the outputs of integers with at most `limit` elements need.
  SymbolicEvaluator(const Program& program, const std::vector<std::optional<Dims>>& operands, int64_t limit,
                    SizesAtHand* sizes)
      : program_(program), sizes_(sizes), tensors_(program.tensors.size()) {
    for (size_t k = 0; k < program.operands.size() && k < operands.size(); ++k) {
      const TensorId id = program.operands[k];
      if (id == none || !operands[k]) continue;
      Elements elements;
      if (!shape_of(id, elements) || count_of(elements.shape) != static_cast<int64_t>(operands[k]->size()))
        continue;
      for (const Dim& element : *operands[k]) elements.values.push_back(SizeValue{element, 1});
      tensors_[static_cast<size_t>(id)] = std::move(elements);
    }
    const std::vector<bool> needed = stages_of_small_outputs(limit);
    for (size_t n = 0; n < needed.size(); ++n) {
      if (needed[n]) run(program.stages[n]);
    }
  }

  std::optional<Dims> output(size_t k, int64_t limit) const {
    const TensorId id = program_.outputs[k];
    const auto& tensor = tensors_[static_cast<size_t>(id)];
    if (!tensor || !is_small(id, limit)) return std::nullopt;
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

  bool is_small(TensorId id, int64_t limit) const {
    if (id == none || is_float(program_.tensors[static_cast<size_t>(id)].type)) return false;
    Elements elements;
    return shape_of(id, elements) && count_of(elements.shape) <= limit;
  }

  std::vector<bool> stages_of_small_outputs(int64_t limit) const {
    std::vector<bool> read(program_.tensors.size());
    for (const TensorId id : program_.outputs) {
      if (is_small(id, limit)) read[static_cast<size_t>(id)] = true;
    }
    std::vector<bool> needed(program_.stages.size());
    for (size_t n = needed.size(); n-- > 0;) {
      const Stage& stage = program_.stages[n];
      needed[n] = std::any_of(stage.results.begin(), stage.results.end(),
                              [&](TensorId id) { return id != none && read[static_cast<size_t>(id)]; });
      if (!needed[n]) continue;
      mark_loads(stage.body, read);
      mark_loads(stage.monoid.identity, read);
      mark_loads(stage.monoid.combine, read);
    }
    return needed;
  }

  /// Marks the tensors that expressions read.
  void mark_loads(const std::vector<ExprId>& roots, std::vector<bool>& read) const {
    for (const ExprId id : reachable(program_, roots)) {
      const Expr& expr = program_.exprs[static_cast<size_t>(id)];
      if (expr.op == ScalarOp::load) read[static_cast<size_t>(expr.integer)] = true;
    }
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
    // Without it, DynamicQuantizeLinear's zero point and ArgMax would walk over all data, of which nothing is
    // known.
    const bool may_end_early = stage.kind == StageKind::reduce && unknown_is_final(stage);
    for (int64_t point = 0; point < points; ++point) {
      std::vector<Maybe> state;
      if (stage.kind == StageKind::reduce) state = identity(stage);
      for (int64_t inner = 0; inner < reduce_points; ++inner) {
        begin(*space, point * reduce_points + inner);
        std::vector<Maybe> values;
        for (ExprId id : stage.body) values.push_back(value(id));
        state = stage.kind == StageKind::map ? values : combined(stage, state, values);
        const auto unknown = [](const Maybe& one) { return !one; };
        if (may_end_early && std::all_of(state.begin(), state.end(), unknown)) break;
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

  /// Whether a state of which nothing is known stays so, whatever is combined with it.
  bool unknown_is_final(const Stage& stage) const {
    const Monoid& monoid = stage.monoid;
    // A product of integers is known where one factor is zero.
    if (monoid.kind == Monoid::Kind::product)
      return is_float(program_.exprs[static_cast<size_t>(stage.body[0])].type);
    if (monoid.kind != Monoid::Kind::tuple) return true;
    std::vector<bool> possible(program_.exprs.size());
    for (const ExprId id : reachable(program_, monoid.combine)) {
      possible[static_cast<size_t>(id)] =
          may_be_known(program_.exprs[static_cast<size_t>(id)], possible, monoid.combine.size());
    }
    return std::none_of(monoid.combine.begin(), monoid.combine.end(),
                        [&](ExprId id) { return possible[static_cast<size_t>(id)]; });
  }

  /// Whether an expression of a monoid can be known where the first `unknown` parameters, the left state, are
  /// not. `possible` says the same of its arguments.
  static bool may_be_known(const Expr& expr, const std::vector<bool>& possible, size_t unknown) {
    const auto argument = [&](size_t k) {
      return expr.args[k] == none || possible[static_cast<size_t>(expr.args[k])];
    };
    switch (expr.op) {
      case ScalarOp::parameter:
        return static_cast<size_t>(expr.integer) >= unknown;
      case ScalarOp::load:
        return true;
      case ScalarOp::select:
        return argument(0) ? argument(1) || argument(2) : argument(1) && argument(2);
      case ScalarOp::logical_and:
      case ScalarOp::logical_or:
      case ScalarOp::mul:
        return argument(0) || argument(1);
      default:
        return argument(0) && argument(1) && argument(2);
    }
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
    const Monoid::Kind kind = stage.monoid.kind;
    const bool bounds = kind == Monoid::Kind::min || kind == Monoid::Kind::max;
    // The bounds of these are no sizes.
    if (bounds && (is_float(type) || type == ElementType::u64)) return {std::nullopt};
    return {SizeValue{
        Dim(is_float(type) ? (kind == Monoid::Kind::product ? 1 : 0) : integer_identity(kind, type)), 1}};
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
    const bool neutral = (op == ScalarOp::min || op == ScalarOp::max) && left[0] && !is_float(type) &&
                         left[0]->numerator == Dim(integer_identity(stage.monoid.kind, type));
    return {neutral ? right[0] : SizeArithmetic(op, type, sizes_).binary(left[0], right[0])};
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
        return SizeValue{Dim(expr.integer), 1};
      case ScalarOp::extent:
        return SizeValue{expr.dim, 1};
      case ScalarOp::axis: {
        auto axis = static_cast<size_t>(expr.integer);
        return axis < point_.size() ? Maybe(SizeValue{Dim(point_[axis]), 1}) : std::nullopt;
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
    const SizeArithmetic arithmetic(expr.op, type, sizes_);
    if (argument_count(expr.op) == 2) return arithmetic.binary(argument(expr, 0), argument(expr, 1));
    return argument(expr, 0) ? arithmetic.unary(*argument(expr, 0)) : std::nullopt;
  }

  Maybe load(const Expr& expr) const {
    if (expr.args[0] != none) {
      const Maybe& guard = argument(expr, 0);
      auto excluded = guard ? equal(guard->numerator, Dim(0), sizes_) : std::nullopt;
      if (!excluded) return std::nullopt;
      if (*excluded) return argument(expr, 1);
    }
    const auto& tensor = tensors_[static_cast<size_t>(expr.integer)];
    if (!tensor || tensor->shape.size() != expr.indices.size()) return std::nullopt;
    int64_t position = 0;
    for (size_t d = 0; d < expr.indices.size(); ++d) {
      const Maybe& index = known_[static_cast<size_t>(expr.indices[d])].value;
      if (!index || index->denominator != 1) return std::nullopt;
      const auto fixed = sizes_ != nullptr ? sizes_->fix(index->numerator) : index->numerator.constant();
      if (!fixed) return std::nullopt;
      const int64_t at = *fixed;
      if (at < 0 || at >= tensor->shape[d]) return std::nullopt;
      position = position * tensor->shape[d] + at;
    }
    return tensor->values[static_cast<size_t>(position)];
  }

  Maybe select(const Expr& expr) const {
    const Maybe& condition = argument(expr, 0);
    auto otherwise = condition ? equal(condition->numerator, Dim(0), sizes_) : std::nullopt;
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
      auto zero = equal(a->numerator, Dim(0), sizes_);
      return zero ? truth(!*zero) : std::nullopt;
    }
    if (is_float(expr.type)) {
      // Sizes are taken as exact in f32 and f64 (below 2^24); a narrower type may round them.
      const bool exact = expr.type == ElementType::f32 || expr.type == ElementType::f64;
      return exact ? a : std::nullopt;
    }
    Maybe whole = is_float(from) ? truncated(*a, sizes_) : a;
    if (!whole) return std::nullopt;
    auto constant = whole->numerator.constant();
    if (constant) {
      // Both casts of a float saturate.
      const bool saturate = is_float(from) || expr.op == ScalarOp::cast_saturate;
      return SizeValue{Dim(integer_to_integer(from, expr.type, *constant, saturate)), 1};
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
  SizesAtHand* sizes_;
  std::vector<std::optional<Elements>> tensors_;
  std::vector<int64_t> point_;
  std::vector<Maybe> parameters_;
  std::vector<Memo> known_;
};

}  // namespace

std::vector<std::optional<Dims>> evaluate_symbolic(const Program& program,
                                                   const std::vector<std::optional<Dims>>& operands,
                                                   int64_t limit, SizesAtHand* sizes) {
  const SymbolicEvaluator evaluator(program, operands, limit, sizes);
  std::vector<std::optional<Dims>> outputs;
  for (size_t k = 0; k < program.outputs.size(); ++k) outputs.push_back(evaluator.output(k, limit));
  return outputs;
}

}  // namespace axrun::ir
