// Operators of two inputs that broadcast, in both of ONNX's rules, and the others whose inputs are combined
// element by element: Where.

#include <fmt/format.h>

#include <algorithm>

#include "ir/ops/elementwise_parts.h"
#include "ir/ops/requirements.h"
#include "ir/ops/string_operators.h"

namespace axrun::ir {
namespace {

using PairRule = std::function<Scalar(const Scalar& a, const Scalar& b)>;

/// Until opset 6: attribute `broadcast` off, and the shapes are equal; on, and the second shape is a
/// contiguous part of the first, from `axis` on (at its end by default), or a single element.
void map_pair_legacy(const OperatorContext& context, Builder& b, const PairRule& rule) {
  const TensorRef x = operand(b, context, 0);
  const TensorRef y = operand(b, context, 1);
  const auto refuse = [&] {
    context.fail(fmt::format("shape {} does not fit into {}", to_string(y.dims()), to_string(x.dims())));
  };
  if (!flag(context, "broadcast", false) && x.rank() != y.rank()) refuse();
  const bool single = product(y.dims()) == Dim(1);
  int first = x.rank() - y.rank();
  if (context.has_attribute("axis") && !single && flag(context, "broadcast", false)) {
    first = context.axis(context.integer("axis", 0), std::max(x.rank(), 1));
  }
  if (!single && (first < 0 || first + y.rank() > x.rank())) refuse();
  b.output(b.map(x.dims(), [&](const Indices& i) {
    Indices at;
    for (int d = 0; d < y.rank(); ++d) {
      const Dim& size = y.dims()[static_cast<size_t>(d)];
      const size_t k = static_cast<size_t>(first + d);
      if (single || (size == Dim(1) && x.dims()[k] != size)) {
        at.push_back(b.integer(0));
      } else {
        if (!context.equal(size, x.dims()[k])) refuse();
        at.push_back(i[k]);
      }
    }
    return rule(x(i), y(at));
  }));
}

void map_pair(const OperatorContext& context, Builder& b, const PairRule& rule) {
  if (context.version() < 7) return map_pair_legacy(context, b, rule);
  const TensorRef x = operand(b, context, 0);
  const TensorRef y = operand(b, context, 1);
  const Dims dims = context.broadcast({x.dims(), y.dims()});
  b.output(b.map(dims, [&](const Indices& i) {
    return rule(broadcast_load(context, x, i, dims), broadcast_load(context, y, i, dims));
  }));
}

template <TypeClass accepted, ScalarOp op>
void define_pair(const OperatorContext& context, Builder& b) {
  require_type(context, 0, accepted);
  require_same_type(context, 0, 1);
  map_pair(context, b, [](const Scalar& x, const Scalar& y) { return binary(op, x, y); });
}

template <ScalarOp op>
constexpr Definition define_number = define_pair<TypeClass::number, op>;
template <ScalarOp op>
constexpr Definition define_logical = define_pair<TypeClass::boolean, op>;
template <ScalarOp op>
constexpr Definition define_bitwise = define_pair<TypeClass::integer, op>;

void define_equal(const OperatorContext& context, Builder& b) {
  require_same_type(context, 0, 1);
  if (context.type(0) != ElementType::string) {
    return map_pair(context, b, [](const Scalar& x, const Scalar& y) { return x == y; });
  }
  const TensorRef x = operand(b, context, 0);
  const TensorRef y = operand(b, context, 1);
  const Dims dims = context.broadcast({x.dims(), y.dims()});
  const auto spread = [&](const TensorRef& side) {
    return b.map(dims, [&](const Indices& i) { return broadcast_load(context, side, i, dims); });
  };
  b.output(strings_equal(b, spread(x), spread(y)));
}

void define_mod(const OperatorContext& context, Builder& b) {
  require_type(context, 0, TypeClass::number);
  require_same_type(context, 0, 1);
  const ScalarOp op = flag(context, "fmod", false) ? ScalarOp::remainder : ScalarOp::floor_mod;
  map_pair(context, b, [&](const Scalar& x, const Scalar& y) { return binary(op, x, y); });
}

/// The exponent may have a type of its own since opset 12; the result has the base's. Integer powers are
/// exact (modulo the width); mixed ones go over float64 and are truncated.
void define_pow(const OperatorContext& context, Builder& b) {
  require_type(context, 0, TypeClass::number);
  require_type(context, 1, TypeClass::number);
  if (context.version() < 12) require_same_type(context, 0, 1);
  map_pair(context, b, [](const Scalar& x, const Scalar& y) {
    if (x.type() == y.type()) return pow(x, y);
    const bool integers = is_integer(x.type()) && is_integer(y.type());
    const ElementType common = integers ? ElementType::i64 : ElementType::f64;
    return cast(x.type(), pow(cast(common, x), cast(common, y)));
  });
}

/// A shift by a negative amount, or by the width or more, leaves only copies of the sign.
void define_bit_shift(const OperatorContext& context, Builder& b) {
  const std::string direction = context.string("direction", "");
  context.check(direction == "LEFT" || direction == "RIGHT", "attribute 'direction' must be LEFT or RIGHT");
  require_type(context, 0, TypeClass::integer);
  require_same_type(context, 0, 1);
  map_pair(context, b, [&](const Scalar& x, const Scalar& amount) {
    if (direction == "LEFT") return binary(ScalarOp::shift_left, x, amount);
    const Scalar shifted = binary(ScalarOp::shift_right, x, amount);
    if (is_unsigned_integer(x.type())) return shifted;
    const Scalar inside = logical_and(amount >= 0, amount < int64_t{bits_of(x.type())});
    const Scalar sign = select(x < 0, b.integer(-1, x.type()), b.integer(0, x.type()));
    return select(inside, shifted, sign);
  });
}

void define_where(const OperatorContext& context, Builder& b) {
  require_type(context, 0, TypeClass::boolean);
  require_same_type(context, 1, 2);
  const TensorRef condition = operand(b, context, 0);
  const TensorRef x = operand(b, context, 1);
  const TensorRef y = operand(b, context, 2);
  const Dims dims = context.broadcast({condition.dims(), x.dims(), y.dims()});
  b.output(b.map(dims, [&](const Indices& i) {
    return select(broadcast_load(context, condition, i, dims), broadcast_load(context, x, i, dims),
                  broadcast_load(context, y, i, dims));
  }));
}

}  // namespace

void binary_operators(std::vector<OperatorEntry>& table) {
  using enum ScalarOp;
  table.insert(table.end(), {{"", "Add", 1, define_number<add>},
                             {"", "And", 1, define_logical<logical_and>},
                             {"", "BitShift", 11, define_bit_shift},
                             {"", "BitwiseAnd", 18, define_bitwise<bit_and>},
                             {"", "BitwiseOr", 18, define_bitwise<bit_or>},
                             {"", "BitwiseXor", 18, define_bitwise<bit_xor>},
                             {"", "Div", 1, define_number<div>},
                             {"", "Equal", 1, define_equal},
                             {"", "Greater", 1, define_number<greater>},
                             {"", "GreaterOrEqual", 12, define_number<greater_equal>},
                             {"", "Less", 1, define_number<less>},
                             {"", "LessOrEqual", 12, define_number<less_equal>},
                             {"", "Mod", 10, define_mod},
                             {"", "Mul", 1, define_number<mul>},
                             {"", "Or", 1, define_logical<logical_or>},
                             {"", "Pow", 1, define_pow},
                             {"", "Sub", 1, define_number<sub>},
                             {"", "Where", 9, define_where},
                             {"", "Xor", 1, define_logical<logical_xor>}});
}

}  // namespace axrun::ir
