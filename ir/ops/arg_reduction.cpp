// ArgMax and ArgMin: the extreme value, and then the first or last place that has it.

#include <limits>

#include "ir/ops/reduction_parts.h"
#include "ir/ops/requirements.h"

namespace axrun::ir {
namespace {

enum class Extreme { least, greatest };

/// Of equal values the first counts, or the last; NaN counts as more extreme than any number.
template <Extreme wanted>
void define_arg(const OperatorContext& context, Builder& b) {
  require_type(context, 0, TypeClass::number);
  const TensorRef x = operand(b, context, 0);
  const auto axis = static_cast<size_t>(context.axis(context.integer("axis", 0), x.rank()));
  const bool last = flag(context, "select_last_index", false);
  const Dim& extent = x.dims()[axis];
  context.check(!context.is(extent, 0), "there is no extreme of no elements");
  std::vector<bool> which(x.dims().size(), false);
  which[axis] = true;
  const ReducedDims dims(x.dims(), std::move(which), flag(context, "keepdims", true));
  const auto element = [&](const Indices& i, const Indices& k) { return x(dims.at(i, k)); };
  // The extreme of numbers and NaN is NaN.
  const TensorRef extreme = b.reduce(wanted == Extreme::least ? Monoid::Kind::min : Monoid::Kind::max,
                                     dims.result, dims.inner, element);
  // Places are counted in 32 bits where these are enough.
  const bool narrow = extent.is_constant() && extent.value() <= std::numeric_limits<int32_t>::max();
  const ElementType count = narrow ? ElementType::i32 : ElementType::i64;
  const Scalar nowhere = last ? b.integer(-1, count) : cast(count, b.extent(extent));
  const TensorRef place = b.reduce(last ? Monoid::Kind::max : Monoid::Kind::min, dims.result, dims.inner,
                                   [&](const Indices& i, const Indices& k) {
                                     const Scalar value = element(i, k), wished = extreme(i);
                                     Scalar here = value == wished;
                                     if (is_float(x.type()))
                                       here = logical_or(here, logical_and(unary(ScalarOp::is_nan, value),
                                                                           unary(ScalarOp::is_nan, wished)));
                                     return select(here, cast(count, k[0]), nowhere);
                                   });
  if (!narrow) return b.output(place);
  b.output(b.map(dims.result, [&](const Indices& i) { return cast(ElementType::i64, place(i)); }));
}

}  // namespace

void arg_operators(std::vector<OperatorEntry>& table) {
  table.insert(table.end(), {{"", "ArgMax", 1, define_arg<Extreme::greatest>},
                             {"", "ArgMin", 1, define_arg<Extreme::least>}});
}

}  // namespace axrun::ir
