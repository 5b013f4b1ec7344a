// Loads at indices that are data: Gather, GatherElements, GatherND; and OneHot, which compares with them.

#include <fmt/format.h>

#include "ir/ops/compute.h"
#include "ir/ops/indexing_parts.h"
#include "ir/ops/requirements.h"

namespace axrun::ir {
namespace {

/// result[before.., i.., after..] = x[before.., indices[i..], after..].
void define_gather(const OperatorContext& context, Builder& b) {
  require_type(context, 1, TypeClass::integer);
  const TensorRef x = operand(b, context, 0);
  const TensorRef indices = operand(b, context, 1);
  const auto axis = static_cast<size_t>(context.axis(context.integer("axis", 0), x.rank()));
  const size_t inner = indices.dims().size();
  const Dims dims =
      joined(joined(part(x.dims(), 0, axis), indices.dims()), part(x.dims(), axis + 1, x.dims().size()));
  b.output(b.map(dims, [&](const Indices& i) {
    Indices at = part(i, 0, axis);
    at.push_back(from_end(indices(part(i, axis, axis + inner)), x.dims()[axis]));
    return x(joined(at, part(i, axis + inner, i.size())));
  }));
}

/// result[i..] = x[i.. with indices[i..] on the axis].
void define_gather_elements(const OperatorContext& context, Builder& b) {
  require_type(context, 1, TypeClass::integer);
  const TensorRef x = operand(b, context, 0);
  const TensorRef indices = operand(b, context, 1);
  const auto axis = static_cast<size_t>(context.axis(context.integer("axis", 0), x.rank()));
  require_rank(context, 1, x.rank());
  b.output(b.map(indices.dims(), [&](const Indices& i) {
    Indices at = i;
    at[axis] = from_end(indices(i), x.dims()[axis]);
    return x(at);
  }));
}

/// Tuples along the last dimension of the indices address x after its first batch_dims dimensions.
void define_gather_nd(const OperatorContext& context, Builder& b) {
  require_type(context, 1, TypeClass::integer);
  const TensorRef x = operand(b, context, 0);
  const TensorRef indices = operand(b, context, 1);
  context.check(x.rank() >= 1 && indices.rank() >= 1, "scalars cannot be indexed");
  const int64_t most = std::min(x.rank(), indices.rank()) - 1;
  const auto batch = static_cast<size_t>(bounded_integer(context, "batch_dims", 0, 0, most));
  const auto length = static_cast<size_t>(context.fixed(indices.dims().back()));
  context.check(length >= 1 && length <= x.dims().size() - batch,
                "the index tuples do not fit the input's rank");
  const size_t outer = indices.dims().size() - 1;
  for (size_t d = 0; d < batch; ++d) {
    context.check(context.equal(x.dims()[d], indices.dims()[d]), "the batch dimensions differ");
  }
  const Dims dims = joined(part(indices.dims(), 0, outer), part(x.dims(), batch + length, x.dims().size()));
  b.output(b.map(dims, [&](const Indices& i) {
    Indices at = part(i, 0, batch);
    for (size_t k = 0; k < length; ++k) {
      Indices place = part(i, 0, outer);
      place.push_back(b.integer(static_cast<int64_t>(k)));
      at.push_back(from_end(indices(place), x.dims()[batch + k]));
    }
    return x(joined(at, part(i, outer, i.size())));
  }));
}

/// values[1] where the new axis' index equals the data, values[0] elsewhere; indices outside -depth..depth-1
/// equal none.
void define_one_hot(const OperatorContext& context, Builder& b) {
  require_type(context, 0, TypeClass::number);
  const TensorRef indices = operand(b, context, 0);
  const TensorRef values = operand(b, context, 2);
  require_rank(context, 2, 1);
  context.check(context.equal(values.dims()[0], Dim(2)), "values must be [off, on]");
  const Dim depth = single_size(context, 1, "the depth");
  context.check(context.may_be_at_least(depth, 0), "the depth is negative");
  const auto axis = static_cast<size_t>(context.axis(context.integer("axis", -1), indices.rank() + 1));
  Dims dims = indices.dims();
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), depth);
  b.output(b.map(dims, [&](const Indices& i) {
    Indices at = i;
    at.erase(at.begin() + static_cast<std::ptrdiff_t>(axis));
    const Scalar hot = from_end(indices(at), depth) == i[axis];
    return select(hot, values({b.integer(1)}), values({b.integer(0)}));
  }));
}

}  // namespace

void gathering_operators(std::vector<OperatorEntry>& table) {
  table.insert(table.end(), {{"", "Gather", 1, define_gather},
                             {"", "GatherElements", 11, define_gather_elements},
                             {"", "GatherND", 11, define_gather_nd},
                             {"", "OneHot", 9, define_one_hot}});
}

}  // namespace axrun::ir
