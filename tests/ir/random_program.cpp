#include "tests/ir/random_program.h"

#include <limits>

namespace axrun::ir {
namespace {

const std::vector<ElementType> types = {ElementType::f32, ElementType::f32,    ElementType::f64,
                                        ElementType::f16, ElementType::i64,    ElementType::i64,
                                        ElementType::i32, ElementType::i8,     ElementType::u8,
                                        ElementType::u64, ElementType::boolean};

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed), builder_("random" + std::to_string(seed)) {}

  RandomProgram run() {
    RandomProgram made;
    const int operands = 1 + pick(3);
    for (int k = 0; k < operands; ++k) {
      Shape shape = random_shape(4, 2000);
      ElementType type = types[static_cast<size_t>(pick(static_cast<int>(types.size())))];
      tensors_.push_back(builder_.operand(k, type, to_dims(shape)));
      made.operands.push_back(random_tensor(random_, type, shape));
    }
    const int stages = 1 + pick(3);
    for (int k = 0; k < stages; ++k) {
      TensorRef result = random_stage();
      tensors_.push_back(result);
      builder_.output(result);
    }
    made.program = builder_.finish();
    return made;
  }

 private:
  int pick(int count) { return static_cast<int>(random_() % static_cast<uint64_t>(count)); }
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
  }

  /// Sizes around the interpreter's block length and below it.
  Shape random_shape(int max_rank, int64_t max_count) {
    const int64_t sizes[] = {1, 1, 2, 3, 4, 5, 7, 9, 16, 31, 48, 255, 256, 257, 300};
    Shape shape;
    int64_t count = 1;
    for (int rank = pick(max_rank + 1); rank > 0; --rank) {
      int64_t size = sizes[pick(15)];
      if (count * size > max_count) size = 1;
      count *= size;
      shape.push_back(size);
    }
    return shape;
  }

  ElementType random_type() { return types[static_cast<size_t>(pick(static_cast<int>(types.size())))]; }

  TensorRef random_stage() {
    switch (pick(6)) {
      case 0:
      case 1: {
        Dims dims = to_dims(random_shape(4, 3000));
        ElementType type = random_type();
        return builder_.map(dims, [&](const Indices& axes) { return body(type, axes); });
      }
      case 2:
        return random_tuple();
      case 3:
        return random_scatter();
      default:
        break;
    }
    // Few results of long reductions run along the reduction, many results of short ones along the results.
    const bool few = pick(2) == 0;
    Dims dims = to_dims(random_shape(3, few ? 6 : 700));
    Dims inner = to_dims(random_shape(3, few ? 700 : 30));
    ElementType type = random_type();
    if (type == ElementType::boolean) type = ElementType::i32;
    auto kind = static_cast<Monoid::Kind>(pick(4));
    return builder_.reduce(kind, dims, inner, [&](const Indices& axes, const Indices& reduce_axes) {
      Indices all = axes;
      all.insert(all.end(), reduce_axes.begin(), reduce_axes.end());
      return body(type, all);
    });
  }

  TensorRef random_tuple() {
    const bool few = pick(2) == 0;
    Dims dims = to_dims(random_shape(2, few ? 6 : 300));
    Dims inner = to_dims(random_shape(2, few ? 300 : 20));
    // The largest value and the first place where it is, and a running polynomial whose order matters.
    auto results = builder_.reduce_tuple(
        dims, inner,
        {builder_.real(ElementType::f64, -std::numeric_limits<double>::infinity()), builder_.integer(-1),
         builder_.integer(0, ElementType::u8), builder_.integer(1, ElementType::u8)},
        [&](const Indices& axes, const Indices& reduce_axes) {
          Indices all = axes;
          all.insert(all.end(), reduce_axes.begin(), reduce_axes.end());
          Scalar place = builder_.integer(0);
          for (size_t k = 0; k < reduce_axes.size(); ++k) place = place * inner[k] + reduce_axes[k];
          Scalar digit = body(ElementType::u8, all);
          return std::vector<Scalar>{body(ElementType::f64, all), place, digit,
                                     builder_.integer(3, ElementType::u8)};
        },
        [&](const std::vector<Scalar>& left, const std::vector<Scalar>& right) {
          Scalar keep = left[0] >= right[0];
          return std::vector<Scalar>{select(keep, left[0], right[0]), select(keep, left[1], right[1]),
                                     left[2] * right[3] + right[2], left[3] * right[3]};
        });
    return results[static_cast<size_t>(pick(4))];
  }

  TensorRef random_scatter() {
    TensorRef base = tensors_[static_cast<size_t>(pick(static_cast<int>(tensors_.size())))];
    // The naive twin rounds after every update, the interpreter once.
    auto combine = static_cast<ScatterCombine>(pick(5));
    const bool rounds = is_float(base.type()) && base.type() != ElementType::f64;
    if (rounds || base.type() == ElementType::boolean) combine = ScatterCombine::assign;
    return builder_.scatter(base, to_dims(random_shape(3, 400)), combine, [&](const Indices& axes) {
      axes_ = axes;
      Builder::Update update;
      for (const Dim& dim : Dims(base.dims())) update.target.push_back(in_bounds(dim.value()));
      update.value = expression(base.type(), 3);
      if (pick(2) == 0) update.guard = expression(ElementType::boolean, 2);
      return update;
    });
  }

  Scalar body(ElementType type, const Indices& axes) {
    axes_ = axes;
    return expression(type, 4);
  }

  Scalar affine() {
    Scalar sum = builder_.integer(between(-6, 6));
    for (const Scalar& axis : axes_) {
      if (pick(2) == 0) sum = sum + axis * builder_.integer(between(-3, 3));
    }
    return sum;
  }

  Scalar in_bounds(int64_t extent) {
    for (const Scalar& axis : axes_) {
      const Expr& e = builder_.program().exprs[static_cast<size_t>(axis.id())];
      if (e.op == ScalarOp::axis && pick(2) == 0) return floor_mod(axis, extent);
    }
    if (pick(3) == 0) return floor_mod(expression(ElementType::i64, 2), extent);
    if (pick(2) == 0) return min(max(affine(), int64_t{0}), extent - 1);
    return floor_mod(affine(), extent);
  }

  Scalar load(ElementType type) {
    const TensorRef& tensor = tensors_[static_cast<size_t>(pick(static_cast<int>(tensors_.size())))];
    const Dims dims = tensor.dims();
    Indices indices;
    const int form = pick(4);
    for (const Dim& dim : dims) {
      if (form == 0) {
        indices.push_back(affine());
      } else if (form == 1) {
        indices.push_back(pick(2) == 0 ? affine() : expression(ElementType::i64, 1));
      } else {
        indices.push_back(in_bounds(dim.value()));
      }
    }
    if (form <= 1) return cast(type, tensor.padded(indices, expression(tensor.type(), 1)));
    if (form == 2) return cast(type, tensor(indices));
    return cast(type,
                tensor.guarded(indices, expression(ElementType::boolean, 2), expression(tensor.type(), 1)));
  }

  Scalar literal(ElementType type) {
    if (is_float(type)) return builder_.literal(type, static_cast<double>(between(-40, 40)) / 8);
    return builder_.integer(pick(8) == 0 ? static_cast<int64_t>(random_()) : between(-5, 5), type);
  }

  Scalar expression(ElementType type, int depth) {
    if (depth <= 0 || pick(6) == 0) {
      if (type == ElementType::i64 && pick(2) == 0) return affine();
      return pick(3) == 0 ? literal(type) : leaf_load(type, depth);
    }
    switch (pick(6)) {
      case 0:
        return leaf_load(type, depth);
      case 1:
        return select(expression(ElementType::boolean, depth - 1), expression(type, depth - 1),
                      expression(type, depth - 1));
      case 2: {
        Scalar other = expression(random_type(), depth - 1);
        return pick(4) == 0 ? cast_saturate(type, other) : cast(type, other);
      }
      default:
        break;
    }
    if (type == ElementType::boolean) return random_boolean(depth);
    return is_float(type) ? random_real(type, depth) : random_integer(type, depth);
  }

  Scalar leaf_load(ElementType type, int depth) {
    return depth > 0 ? load(type) : cast(type, literal(tensors_[0].type()));
  }

  Scalar random_boolean(int depth) {
    const ScalarOp comparisons[] = {ScalarOp::equal,      ScalarOp::not_equal, ScalarOp::less,
                                    ScalarOp::less_equal, ScalarOp::greater,   ScalarOp::greater_equal};
    const ScalarOp logical[] = {ScalarOp::logical_and, ScalarOp::logical_or, ScalarOp::logical_xor};
    if (pick(2) == 0) {
      ElementType type = random_type();
      return binary(comparisons[pick(6)], expression(type, depth - 1), expression(type, depth - 1));
    }
    Scalar a = expression(ElementType::boolean, depth - 1);
    return pick(4) == 0 ? !a : binary(logical[pick(3)], a, expression(ElementType::boolean, depth - 1));
  }

  Scalar random_real(ElementType type, int depth) {
    const ScalarOp two[] = {ScalarOp::add,       ScalarOp::sub,  ScalarOp::mul, ScalarOp::div,
                            ScalarOp::min,       ScalarOp::max,  ScalarOp::pow, ScalarOp::floor_mod,
                            ScalarOp::remainder, ScalarOp::atan2};
    const ScalarOp one[] = {ScalarOp::neg,  ScalarOp::abs,       ScalarOp::sign,     ScalarOp::floor,
                            ScalarOp::ceil, ScalarOp::sqrt,      ScalarOp::truncate, ScalarOp::exp,
                            ScalarOp::tanh, ScalarOp::round_even};
    Scalar a = expression(type, depth - 1);
    return pick(3) == 0 ? unary(one[pick(10)], a) : binary(two[pick(10)], a, expression(type, depth - 1));
  }

  Scalar random_integer(ElementType type, int depth) {
    const ScalarOp two[] = {ScalarOp::add,        ScalarOp::sub,         ScalarOp::mul,    ScalarOp::min,
                            ScalarOp::max,        ScalarOp::bit_and,     ScalarOp::bit_or, ScalarOp::bit_xor,
                            ScalarOp::shift_left, ScalarOp::shift_right, ScalarOp::pow};
    const ScalarOp division[] = {ScalarOp::div, ScalarOp::floor_div, ScalarOp::floor_mod,
                                 ScalarOp::remainder};
    const ScalarOp one[] = {ScalarOp::neg, ScalarOp::abs, ScalarOp::sign, ScalarOp::bit_not};
    Scalar a = expression(type, depth - 1);
    if (pick(4) == 0) return unary(one[pick(4)], a);
    if (pick(3) != 0) return binary(two[pick(11)], a, expression(type, depth - 1));
    // Odd divisors are never 0.
    Scalar divisor = pick(2) == 0
                         ? binary(ScalarOp::bit_or, expression(type, depth - 1), builder_.integer(1, type))
                         : builder_.integer(int64_t{1} << pick(6), type);
    return binary(division[pick(4)], a, divisor);
  }

  std::mt19937_64 random_;
  Builder builder_;
  std::vector<TensorRef> tensors_;
  Indices axes_;
};

}  // namespace

RandomProgram random_program(uint64_t seed) { return Generator(seed).run(); }

Tensor random_tensor(std::mt19937_64& random, ElementType type, const Shape& shape) {
  Tensor tensor = Tensor::allocate(type, shape);
  for (int64_t k = 0; k < tensor.size(); ++k) {
    if (is_float(type)) {
      const double extremes[] = {std::numeric_limits<double>::infinity(),
                                 std::numeric_limits<double>::quiet_NaN(), -0.0, 1e300};
      const double value = static_cast<double>(static_cast<int64_t>(random() % 129) - 64) / 16;
      tensor.set_real(k, random() % 40 == 0 ? extremes[random() % 4] : value);
    } else {
      tensor.set_int(
          k, random() % 10 == 0 ? static_cast<int64_t>(random()) : static_cast<int64_t>(random() % 21) - 10);
    }
  }
  return tensor;
}

}  // namespace axrun::ir
