// LayerNormalization and RMSNormalization: statistics over the axes from `axis` on.
#include <fmt/format.h>

#include "ir/ops/compute.h"
#include "ir/ops/normalization.h"
#include "ir/ops/requirements.h"

namespace axrun::ir {
namespace {

std::vector<int> trailing_axes(const OperatorContext& context, int rank) {
  std::vector<int> axes;
  for (int k = context.axis(context.integer("axis", -1), rank); k < rank; ++k) axes.push_back(k);
  return axes;
}

/// The type of Mean and InvStdDev; the statistics themselves are real.
ElementType stash_type(const OperatorContext& context, ElementType type) {
  const ElementType stash = type_attribute(context, "stash_type", ElementType::f32);
  context.check(is_real_type(stash), "attribute 'stash_type' is not a float type");
  return stash == ElementType::f32 && type == ElementType::f64 ? type : stash;
}

TensorRef parameter(const OperatorContext& context, Builder& b, int k, const TensorRef& x) {
  const TensorRef p = real_operand(b, context, k);
  if (!context.broadcasts_to(p.dims(), x.dims())) {
    context.fail(fmt::format("input {} of shape {} cannot be broadcast to {}", k, to_string(p.dims()),
                             to_string(x.dims())));
  }
  return p;
}

/// The kept indices of `i`, an index of the statistics' shape [kept..., 1...].
TensorRef statistics(Builder& b, const Moments& m, ElementType type,
                     const std::function<Scalar(const Indices& kept)>& value) {
  Dims dims = m.split.kept_dims;
  dims.insert(dims.end(), m.split.reduced.size(), Dim(1));
  return b.map(dims, [&](const Indices& i) { return cast(type, value(part(i, 0, m.split.kept.size()))); });
}

void define_layer_normalization(const OperatorContext& context, Builder& b) {
  const TensorRef x = real_operand(b, context, 0);
  const double epsilon = context.real("epsilon", 1e-5F);
  const std::vector<int> reduced = trailing_axes(context, x.rank());
  const TensorRef scale = parameter(context, b, 1, x);
  TensorRef bias;
  if (context.has(2)) bias = parameter(context, b, 2, x);
  const Moments m = moments_of(b, x, reduced);
  const ElementType type = m.total.type();
  const auto deviation = [&](const Indices& kept) { return sqrt(m.variance(kept) + epsilon); };
  b.output(b.map(x.dims(), [&](const Indices& i) {
    const Indices kept = m.split.kept_of(i);
    const Scalar normal = (widen(x(i)) - m.mean(kept)) / deviation(kept);
    const Scalar scaled = normal * cast(type, broadcast_load(context, scale, i, x.dims()));
    if (!bias.defined()) return cast(x.type(), scaled);
    return cast(x.type(), scaled + cast(type, broadcast_load(context, bias, i, x.dims())));
  }));
  const ElementType stash = stash_type(context, x.type());
  if (context.wants(1) || context.wants(2)) {
    b.output(statistics(b, m, stash, [&](const Indices& kept) { return m.mean(kept); }));
  }
  if (context.wants(2)) {
    b.output(statistics(b, m, stash, [&](const Indices& kept) { return 1 / deviation(kept); }));
  }
}

/// x / sqrt(mean of x^2 + epsilon) * scale, of the type of scale.
void define_rms_normalization(const OperatorContext& context, Builder& b) {
  const TensorRef x = real_operand(b, context, 0);
  const double epsilon = context.real("epsilon", 1e-5F);
  const AxisSplit split = split_axes(x.dims(), trailing_axes(context, x.rank()));
  const TensorRef scale = parameter(context, b, 1, x);
  stash_type(context, x.type());
  const TensorRef squares =
      b.sum(split.kept_dims, split.reduced_dims, [&](const Indices& i, const Indices& r) {
        const Scalar value = widen(x(split.whole(i, r)));
        return value * value;
      });
  const ElementType type = squares.type();
  b.output(b.map(x.dims(), [&](const Indices& i) {
    const Scalar mean = squares(split.kept_of(i)) / count_of(b, type, split.reduced_dims);
    return cast(scale.type(),
                widen(x(i)) / sqrt(mean + epsilon) * cast(type, broadcast_load(context, scale, i, x.dims())));
  }));
}

}  // namespace

void layer_normalization_operators(std::vector<OperatorEntry>& table) {
  table.insert(table.end(), {
                                // Exporters write LayerNormalization into models of opset 1 to 16 as well.
                                {"", "LayerNormalization", 1, define_layer_normalization},
                                {"", "RMSNormalization", 23, define_rms_normalization},
                            });
}

}  // namespace axrun::ir
