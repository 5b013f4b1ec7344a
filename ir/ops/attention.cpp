#include "ir/ops/attention.h"

#include <cmath>

#include "ir/ops/compute.h"
#include "ir/ops/softmax.h"

namespace axrun::ir {
namespace {

/// exp(x - m) / (exp(sink - m) + sum exp(x - m)), m being the maximum of all.
TensorRef softmax_with_sink(Builder& b, const TensorRef& logits,
                            const std::function<Scalar(const Scalar& head)>& sink) {
  const Dims& dims = logits.dims();
  const Dims rows = part(dims, 0, 3);
  const auto at = [](const Indices& i, const Indices& r) { return joined(i, r); };
  const TensorRef highest =
      b.reduce(Monoid::Kind::max, rows, {dims[3]},
               [&](const Indices& i, const Indices& r) { return max(logits(at(i, r)), sink(i[1])); });
  const TensorRef sum = b.sum(rows, {dims[3]}, [&](const Indices& i, const Indices& r) {
    return exp(logits(at(i, r)) - highest(i));
  });
  return b.map(dims, [&](const Indices& i) {
    const Indices row = part(i, 0, 3);
    return exp(logits(i) - highest(row)) / (sum(row) + exp(sink(i[1]) - highest(row)));
  });
}

}  // namespace

AttentionResult attention(Builder& b, const AttentionShape& shape, const AttentionTerms& terms) {
  AttentionResult result;
  const TensorRef products = b.sum(shape.scores(), {shape.key_size}, [&](const Indices& i, const Indices& r) {
    return terms.query({i[0], i[1], i[2], r[0]}) * terms.key({i[0], i[1], i[3], r[0]});
  });
  result.logits =
      b.map(shape.scores(), [&](const Indices& i) { return terms.logit(i, products(i) * terms.scale); });
  if (terms.sink) {
    result.probabilities = softmax_with_sink(b, result.logits, terms.sink);
  } else {
    const SoftmaxParts parts =
        softmax_parts(b, shape.scores(), {3}, [&](const Indices& i) { return result.logits(i); });
    result.probabilities = b.map(shape.scores(), [&](const Indices& i) { return softmax_at(parts, i); });
  }
  result.output = b.reduce_grouped(
      Monoid::Kind::sum, {shape.batch, shape.queries, shape.heads, shape.value_size}, {{0}, {1}, {2, 3}},
      {shape.keys}, [&](const Indices& i, const Indices& r) {
        return result.probabilities({i[0], i[2], i[1], r[0]}) * terms.value({i[0], i[2], r[0], i[3]});
      });
  return result;
}

Scalar attention_scale(const OperatorContext& context, Builder& b, ElementType type, const Dim& size) {
  const double scale = context.real("scale", 0);
  if (scale != 0) return b.literal(type, scale);
  if (const auto constant = context.number(size)) {
    return b.literal(type, 1 / std::sqrt(static_cast<double>(std::max<int64_t>(*constant, 1))));
  }
  return 1.0 / sqrt(cast(type, b.extent(size)));
}

TensorRef joined_states(Builder& b, const TensorRef& past, const Dims& added_dims, ElementType type,
                        const Builder::MapBody& added) {
  if (!past.defined()) {
    return b.map(added_dims, [&](const Indices& i) { return cast(type, added(i)); });
  }
  const Dim& past_length = past.dims()[2];
  Dims dims = added_dims;
  dims[2] = past_length + added_dims[2];
  // A map of its own, so that it can be loaded under a guard.
  const TensorRef fresh = b.map(added_dims, [&](const Indices& i) { return cast(type, added(i)); });
  return b.map(dims, [&](const Indices& i) {
    const Scalar old = i[2] < past_length;
    const Scalar fresh_value =
        fresh.guarded({i[0], i[1], i[2] - past_length, i[3]}, !old, b.literal(type, 0));
    return select(old, past.guarded(i, old, b.literal(type, 0)), fresh_value);
  });
}

Scalar rotated(const Scalar& component, const Dim& half, bool interleaved,
               const std::function<Scalar(const Scalar&)>& at,
               const std::function<Scalar(const Scalar&)>& cosine,
               const std::function<Scalar(const Scalar&)>& sine) {
  Builder& b = component.builder();
  const Scalar inside = component < half * Dim(2);
  // Components beyond the turned ones read pair 0, which is not used.
  const Scalar turned = select(inside, component, b.integer(0));
  const Scalar pair = interleaved ? floor_div(turned, 2) : select(turned < half, turned, turned - half);
  const Scalar is_first = interleaved ? floor_mod(turned, 2) == 0 : turned < half;
  const Scalar first = interleaved ? pair * 2 : pair;
  const Scalar second = interleaved ? pair * 2 + 1 : pair + half;
  const Scalar other = at(select(is_first, second, first));
  const Scalar own = at(component);
  const Scalar result = own * cosine(pair) + select(is_first, -other, other) * sine(pair);
  return select(inside, result, own);
}

}  // namespace axrun::ir
