// Softmax, LogSoftmax and Hardmax. Before opset 13 the input is flattened to a matrix at `axis` and its rows
// are normalised, which is a reduction over all axes from `axis` on; since then one axis is reduced.
#include "ir/ops/softmax.h"

#include "ir/ops/compute.h"
#include "ir/ops/pooling.h"

namespace axrun::ir {

SoftmaxParts softmax_parts(Builder& b, const Dims& dims, const std::vector<int>& reduced,
                           const Builder::MapBody& value) {
  SoftmaxParts parts;
  const AxisSplit split = split_axes(dims, reduced);
  parts.split = split;
  parts.maximum = b.reduce(Monoid::Kind::max, split.kept_dims, split.reduced_dims,
                           [&](const Indices& i, const Indices& r) { return value(split.whole(i, r)); });
  parts.exponential =
      b.map(dims, [&](const Indices& i) { return exp(value(i) - parts.maximum(split.kept_of(i))); });
  parts.total = b.sum(split.kept_dims, split.reduced_dims, [&](const Indices& i, const Indices& r) {
    return parts.exponential(split.whole(i, r));
  });
  return parts;
}

Scalar softmax_at(const SoftmaxParts& parts, const Indices& indices) {
  return parts.exponential(indices) / parts.total(parts.split.kept_of(indices));
}

namespace {

std::vector<int> reduced_axes(const OperatorContext& context, int rank) {
  if (context.version() >= 13) {
    if (rank == 0) return {};
    return {context.axis(context.integer("axis", -1), rank)};
  }
  const int64_t axis = context.integer("axis", 1);
  const int first = axis == rank ? rank : context.axis(axis, rank);
  std::vector<int> axes;
  for (int k = first; k < rank; ++k) axes.push_back(k);
  return axes;
}

void define_softmax(const OperatorContext& context, Builder& b) {
  const TensorRef x = real_operand(b, context, 0);
  const SoftmaxParts parts = softmax_parts(b, x.dims(), reduced_axes(context, x.rank()),
                                           [&](const Indices& i) { return widen(x(i)); });
  b.output(b.map(x.dims(), [&](const Indices& i) { return cast(x.type(), softmax_at(parts, i)); }));
}

/// x - m - log sum exp(x - m).
void define_log_softmax(const OperatorContext& context, Builder& b) {
  const TensorRef x = real_operand(b, context, 0);
  const AxisSplit split = split_axes(x.dims(), reduced_axes(context, x.rank()));
  const TensorRef maximum =
      b.reduce(Monoid::Kind::max, split.kept_dims, split.reduced_dims,
               [&](const Indices& i, const Indices& r) { return widen(x(split.whole(i, r))); });
  const TensorRef total = b.sum(split.kept_dims, split.reduced_dims, [&](const Indices& i, const Indices& r) {
    return exp(widen(x(split.whole(i, r))) - maximum(i));
  });
  b.output(b.map(x.dims(), [&](const Indices& i) {
    const Indices kept = split.kept_of(i);
    return cast(x.type(), widen(x(i)) - maximum(kept) - log(total(kept)));
  }));
}

/// 1 at the first maximum of each row, 0 elsewhere; NaN counts as the largest value.
void define_hardmax(const OperatorContext& context, Builder& b) {
  const TensorRef x = real_operand(b, context, 0);
  const AxisSplit split = split_axes(x.dims(), reduced_axes(context, x.rank()));
  const auto position = [&](const Indices& reduced) {
    Scalar number = b.integer(0);
    for (size_t k = 0; k < reduced.size(); ++k) number = number * split.reduced_dims[k] + reduced[k];
    return number;
  };
  const std::vector<TensorRef> best = b.reduce_tuple(
      split.kept_dims, split.reduced_dims, first_maximum_identity(b, x.type()),
      [&](const Indices& i, const Indices& r) {
        return std::vector<Scalar>{x(split.whole(i, r)), position(r)};
      },
      first_maximum);
  b.output(b.map(x.dims(), [&](const Indices& i) {
    const Scalar chosen = best[1](split.kept_of(i)) == position(split.reduced_of(i));
    return select(chosen, b.real(x.type(), 1), b.real(x.type(), 0));
  }));
}

}  // namespace

void softmax_operators(std::vector<OperatorEntry>& table) {
  table.insert(table.end(), {
                                {"", "Softmax", 1, define_softmax},
                                {"", "LogSoftmax", 1, define_log_softmax},
                                {"", "Hardmax", 1, define_hardmax},
                            });
}

}  // namespace axrun::ir
