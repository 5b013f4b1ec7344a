// Writes at indices that are data: ScatterElements (Scatter before opset 11), ScatterND, TensorScatter. Where
// indices repeat, the last update in row-major order stays, or all are combined. Indices that are known and
// form a box make a map.

#include <fmt/format.h>

#include <functional>
#include <optional>

#include "ir/ops/compute.h"
#include "ir/ops/indexing_parts.h"
#include "ir/ops/requirements.h"
#include "ir/ops/update_box.h"

namespace axrun::ir {
namespace {

ScatterCombine reduction_of(const OperatorContext& context) {
  const std::string name = context.string("reduction", "none");
  if (name == "none") return ScatterCombine::assign;
  require_type(context, 0, TypeClass::number);
  if (name == "add") return ScatterCombine::add;
  if (name == "mul") return ScatterCombine::mul;
  if (name == "min") return ScatterCombine::min;
  context.check(name == "max", fmt::format("attribute 'reduction' = '{}' is unknown", name));
  return ScatterCombine::max;
}

/// Where the updates go, as a box, when the indices are known and say one. side(d, size): that of dimension d
/// of the base; size is 0 where it is not known.
std::optional<UpdateBox> known_box(
    const OperatorContext& context, const TensorRef& x, const TensorRef& updates,
    const std::function<std::optional<BoxSide>(size_t d, int64_t size)>& side) {
  const OperandInfo& indices = context.operand(1);
  constexpr int64_t most_indices = 1 << 22;
  if (indices.constant == nullptr || indices.constant->size() > most_indices) return std::nullopt;
  UpdateBox box;
  for (size_t d = 0; d < x.dims().size(); ++d) {
    const auto size = x.dims()[d].constant();
    const auto found = side(d, size.value_or(0));  // no place is inside of 0 elements
    if (!found) return std::nullopt;
    box.push_back(*found);
  }
  return is_box(box, updates.dims()) ? std::optional(box) : std::nullopt;
}

/// result[i.. with indices[i..] on the axis] = updates[i..].
void define_scatter_elements(const OperatorContext& context, Builder& b) {
  require_type(context, 1, TypeClass::integer);
  require_same_type(context, 0, 2);
  const TensorRef x = operand(b, context, 0);
  const Dims dims = context.dims(1);
  const TensorRef updates = shaped_operand(b, context, 2, dims, "updates");
  const auto axis = static_cast<size_t>(context.axis(context.integer("axis", 0), x.rank()));
  require_rank(context, 1, x.rank());
  const ScatterCombine combine = reduction_of(context);
  const auto box = known_box(context, x, updates, [&](size_t d, int64_t size) -> std::optional<BoxSide> {
    const Tensor& places = context.constant(1);
    if (d == axis) return box_side(places.shape(), size, [&](int64_t k) { return places.get_int(k); });
    if (places.shape()[d] > size) return std::nullopt;
    return BoxSide{0, 1, static_cast<int>(d)};
  });
  if (box) return b.output(write_box(b, x, updates, *box, combine));
  const TensorRef indices = operand(b, context, 1);
  b.output(b.scatter(x, dims, combine, [&](const Indices& i) {
    Indices target = i;
    target[axis] = from_end(indices(i), x.dims()[axis]);
    return Builder::Update{target, updates(i), {}};
  }));
}

/// Tuples along the last dimension of the indices say where slices of the updates go.
void define_scatter_nd(const OperatorContext& context, Builder& b) {
  require_type(context, 1, TypeClass::integer);
  require_same_type(context, 0, 2);
  const TensorRef x = operand(b, context, 0);
  const Dims index_dims = context.dims(1);
  context.check(x.rank() >= 1 && !index_dims.empty(), "scalars cannot be indexed");
  const auto length = static_cast<size_t>(context.fixed(index_dims.back()));
  context.check(length <= x.dims().size(), "the index tuples do not fit the input's rank");
  const size_t outer = index_dims.size() - 1;
  const Dims dims = joined(part(index_dims, 0, outer), part(x.dims(), length, x.dims().size()));
  const TensorRef updates = shaped_operand(b, context, 2, dims, "updates");
  const ScatterCombine combine = reduction_of(context);
  const auto box = known_box(context, x, updates, [&](size_t d, int64_t size) -> std::optional<BoxSide> {
    if (d >= length) return BoxSide{0, 1, static_cast<int>(outer + d - length)};
    const Tensor& places = context.constant(1);
    const Shape tuples(places.shape().begin(), places.shape().end() - 1);
    const auto width = static_cast<int64_t>(length), part = static_cast<int64_t>(d);
    return box_side(tuples, size, [&](int64_t k) { return places.get_int(k * width + part); });
  });
  if (box) return b.output(write_box(b, x, updates, *box, combine));
  const TensorRef indices = operand(b, context, 1);
  b.output(b.scatter(x, dims, combine, [&](const Indices& i) {
    Indices target;
    for (size_t k = 0; k < length; ++k) {
      Indices place = part(i, 0, outer);
      place.push_back(b.integer(static_cast<int64_t>(k)));
      target.push_back(from_end(indices(place), x.dims()[k]));
    }
    return Builder::Update{joined(target, part(i, outer, i.size())), updates(i), {}};
  }));
}

/// A cache whose positions from write_indices[batch] on, along the axis, are replaced by the update;
/// circularly if so asked.
void define_tensor_scatter(const OperatorContext& context, Builder& b) {
  require_same_type(context, 0, 1);
  const TensorRef cache = operand(b, context, 0);
  const auto axis = static_cast<size_t>(context.axis(context.integer("axis", -2), cache.rank()));
  context.check(axis > 0, "the axis cannot be the batch dimension");
  const TensorRef update = operand(b, context, 1);
  require_rank(context, 1, cache.rank());
  for (size_t d = 0; d < cache.dims().size(); ++d) {
    context.check(d == axis || context.equal(cache.dims()[d], update.dims()[d]),
                  fmt::format("shapes {} and {} differ outside the axis", to_string(cache.dims()),
                              to_string(update.dims())));
  }
  const std::string mode = context.string("mode", "linear");
  context.check(mode == "linear" || mode == "circular", "attribute 'mode' must be linear or circular");
  const Dim length = cache.dims()[axis];
  const Dim excess = update.dims()[axis] - length;
  context.check(context.may_be_at_least(0, excess), "the update is longer than the cache");
  TensorRef starts;
  if (context.has(2)) {
    require_type(context, 2, TypeClass::integer);
    starts = shaped_operand(b, context, 2, {cache.dims()[0]}, "write_indices");
  }
  if (!starts.defined() && excess.is_constant()) {
    UpdateBox box;
    for (size_t d = 0; d < cache.dims().size(); ++d) box.push_back({0, 1, static_cast<int>(d)});
    return b.output(write_box(b, cache, update, box, ScatterCombine::assign));
  }
  b.output(b.scatter(cache, update.dims(), ScatterCombine::assign, [&](const Indices& i) {
    Indices target = i;
    if (starts.defined()) target[axis] = cast(ElementType::i64, starts({i[0]})) + i[axis];
    if (mode == "circular") target[axis] = floor_mod(target[axis], length);
    return Builder::Update{target, update(i), {}};
  }));
}

}  // namespace

void scattering_operators(std::vector<OperatorEntry>& table) {
  table.insert(table.end(), {{"", "Scatter", 9, define_scatter_elements},
                             {"", "ScatterElements", 11, define_scatter_elements},
                             {"", "ScatterND", 11, define_scatter_nd},
                             {"", "TensorScatter", 24, define_tensor_scatter}});
}

}  // namespace axrun::ir
