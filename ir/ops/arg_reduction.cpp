// ArgMax and ArgMin as reductions over (value, position).

#include <limits>

#include "ir/ops/reduction_parts.h"
#include "ir/ops/requirements.h"

namespace axrun::ir {
namespace {

enum class Extreme { least, greatest };

/// A value that no other one loses to.
Scalar worst_value(Builder& b, ElementType type, Extreme wanted) {
  const bool least = wanted == Extreme::least;
  if (is_float(type)) {
    const double infinity = std::numeric_limits<double>::infinity();
    return b.real(type, least ? infinity : -infinity);
  }
  // -1 wraps to the greatest u64, which integer_max cannot tell.
  const int64_t greatest = type == ElementType::u64 ? -1 : integer_max(type);
  return b.integer(least ? greatest : integer_min(type), type);
}

/// Of equal values the first counts, or the last; NaN counts as more extreme than any number.
template <Extreme wanted>
void define_arg(const OperatorContext& context, Builder& b) {
  require_type(context, 0, TypeClass::number);
  const TensorRef x = operand(b, context, 0);
  const auto axis = static_cast<size_t>(context.axis(context.integer("axis", 0), x.rank()));
  const bool last = flag(context, "select_last_index", false);
  context.check(x.dims()[axis] != Dim(0), "there is no extreme of no elements");
  std::vector<bool> which(x.dims().size(), false);
  which[axis] = true;
  const ReducedDims dims(x.dims(), std::move(which), flag(context, "keepdims", true));
  const Scalar worst_place = b.integer(last ? -1 : std::numeric_limits<int64_t>::max());
  const auto results = b.reduce_tuple(
      dims.result, dims.inner, {worst_value(b, x.type(), wanted), worst_place},
      [&](const Indices& i, const Indices& k) {
        return std::vector<Scalar>{x(dims.at(i, k)), k[0]};
      },
      [&](const std::vector<Scalar>& left, const std::vector<Scalar>& right) {
        Scalar better = wanted == Extreme::least ? right[0] < left[0] : right[0] > left[0];
        Scalar same = right[0] == left[0];
        if (is_float(x.type())) {
          const Scalar left_nan = unary(ScalarOp::is_nan, left[0]);
          const Scalar right_nan = unary(ScalarOp::is_nan, right[0]);
          better = logical_or(better, logical_and(right_nan, !left_nan));
          same = logical_or(same, logical_and(right_nan, left_nan));
        }
        const Scalar preferred = last ? right[1] > left[1] : right[1] < left[1];
        const Scalar take = logical_or(better, logical_and(same, preferred));
        return std::vector<Scalar>{select(take, right[0], left[0]), select(take, right[1], left[1])};
      });
  b.output(results[1]);
}

}  // namespace

void arg_operators(std::vector<OperatorEntry>& table) {
  table.insert(table.end(), {{"", "ArgMax", 1, define_arg<Extreme::greatest>},
                             {"", "ArgMin", 1, define_arg<Extreme::least>}});
}

}  // namespace axrun::ir
