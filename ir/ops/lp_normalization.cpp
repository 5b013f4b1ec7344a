// LRN, LpNormalization and MeanVarianceNormalization.
#include "ir/ops/compute.h"
#include "ir/ops/normalization.h"

namespace axrun::ir {
namespace {

/// x / (bias + alpha / size * sum of squares over a window of channels) ^ beta.
void define_lrn(const OperatorContext& context, Builder& b) {
  const TensorRef x = real_operand(b, context, 0);
  context.check(x.rank() >= 2, "the input has no channels");
  context.check(context.has_attribute("size"), "attribute 'size' is missing");
  constexpr int64_t largest = int64_t{1} << 20;
  const int64_t size = bounded_integer(context, "size", 0, 1, largest);
  const double alpha = context.real("alpha", 1e-4F);
  const double beta = context.real("beta", 0.75F);
  const double bias = context.real("bias", 1);
  const int64_t before = (size - 1) / 2;
  const TensorRef squares = b.sum(x.dims(), {Dim(size)}, [&](const Indices& i, const Indices& r) {
    Indices at = i;
    at[1] = i[1] + r[0] - before;
    const Scalar value = widen(x.padded(at, 0.0));
    return value * value;
  });
  b.output(b.map(x.dims(), [&](const Indices& i) {
    const Scalar base = squares(i) * alpha / static_cast<double>(size) + bias;
    return cast(x.type(), widen(x(i)) / pow(base, beta));
  }));
}

/// x / norm, and 0 where the norm is 0.
void define_lp_normalization(const OperatorContext& context, Builder& b) {
  const TensorRef x = real_operand(b, context, 0);
  const int64_t p = bounded_integer(context, "p", 2, 1, 2);
  const int axis = context.axis(context.integer("axis", -1), x.rank());
  const AxisSplit split = split_axes(x.dims(), {axis});
  const TensorRef sum = b.sum(split.kept_dims, split.reduced_dims, [&](const Indices& i, const Indices& r) {
    const Scalar value = widen(x(split.whole(i, r)));
    return p == 1 ? abs(value) : value * value;
  });
  b.output(b.map(x.dims(), [&](const Indices& i) {
    const Scalar total = sum(split.kept_of(i));
    const Scalar norm = p == 1 ? total : sqrt(total);
    return cast(x.type(), select(norm == 0.0, b.real(norm.type(), 0), widen(x(i)) / norm));
  }));
}

/// (x - mean) / (sqrt(variance) + 1e-9), the small term as in the operator's function body.
void define_mean_variance_normalization(const OperatorContext& context, Builder& b) {
  const TensorRef x = real_operand(b, context, 0);
  const std::vector<int> axes = context.axes(context.integers("axes", {0, 2, 3}), x.rank());
  const Moments m = moments_of(b, x, axes);
  b.output(b.map(x.dims(), [&](const Indices& i) {
    const Indices kept = m.split.kept_of(i);
    return cast(x.type(), (widen(x(i)) - m.mean(kept)) / (sqrt(m.variance(kept)) + 1e-9));
  }));
}

}  // namespace

void lp_normalization_operators(std::vector<OperatorEntry>& table) {
  table.insert(table.end(), {
                                {"", "LRN", 1, define_lrn},
                                {"", "LpNormalization", 1, define_lp_normalization},
                                {"", "MeanVarianceNormalization", 1, define_mean_variance_normalization},
                            });
}

}  // namespace axrun::ir
