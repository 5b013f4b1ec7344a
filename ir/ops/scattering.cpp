// Writes at indices that are data: ScatterElements (Scatter before opset 11), ScatterND, TensorScatter. Where
// indices repeat, the last update in row-major order stays, or all are combined.

#include <fmt/format.h>

#include "ir/ops/compute.h"
#include "ir/ops/indexing_parts.h"
#include "ir/ops/requirements.h"

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

/// result[i.. with indices[i..] on the axis] = updates[i..].
void define_scatter_elements(const OperatorContext& context, Builder& b) {
  require_type(context, 1, TypeClass::integer);
  require_same_type(context, 0, 2);
  const TensorRef x = operand(b, context, 0);
  const TensorRef indices = operand(b, context, 1);
  const TensorRef updates = shaped_operand(b, context, 2, indices.dims(), "updates");
  const auto axis = static_cast<size_t>(context.axis(context.integer("axis", 0), x.rank()));
  require_rank(context, 1, x.rank());
  b.output(b.scatter(x, indices.dims(), reduction_of(context), [&](const Indices& i) {
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
  const TensorRef indices = operand(b, context, 1);
  context.check(x.rank() >= 1 && indices.rank() >= 1, "scalars cannot be indexed");
  const auto length = static_cast<size_t>(known_value(indices.dims().back()));
  context.check(length <= x.dims().size(), "the index tuples do not fit the input's rank");
  const size_t outer = indices.dims().size() - 1;
  const Dims dims = joined(part(indices.dims(), 0, outer), part(x.dims(), length, x.dims().size()));
  const TensorRef updates = shaped_operand(b, context, 2, dims, "updates");
  b.output(b.scatter(x, dims, reduction_of(context), [&](const Indices& i) {
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
  context.check(!excess.is_constant() || excess.value() <= 0, "the update is longer than the cache");
  TensorRef starts;
  if (context.has(2)) {
    require_type(context, 2, TypeClass::integer);
    starts = shaped_operand(b, context, 2, {cache.dims()[0]}, "write_indices");
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
