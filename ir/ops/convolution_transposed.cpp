// ConvTranspose. With s the stride, d the dilation and p the padding at the beginning,
//   Y[o] = sum of X[i] W[k] over all i, k with i * s + k * d = o + p.
// The sum is taken over the unpadded positions t = o + p first, split into t = s * q + r: then k = r + s * j
// and i = q - j for dilation 1, which needs neither division nor a test for divisibility.
#include <fmt/format.h>

#include <limits>

#include "ir/ops/compute.h"
#include "ir/ops/convolution.h"

namespace axrun::ir {
namespace {

/// One spatial dimension of the sum.
struct TransposedAxis {
  Dim input;
  Dim kernel;
  int64_t stride = 1;
  int64_t dilation = 1;
  Dim pad;     ///< at the beginning
  Dim output;  ///< after padding

  /// Strides and dilations above 1 at once: positions are not split, and divisibility is tested.
  bool is_mixed() const { return stride > 1 && dilation > 1; }
  int64_t phases() const { return is_mixed() ? 1 : stride; }
  Dim full() const { return stride * (input - 1) + dilation * (kernel - 1) + 1; }
  /// Number of values of q, and of j.
  Dim steps() const { return ceil_div(full(), Dim(phases())); }
  Dim taps() const { return ceil_div(kernel, Dim(phases())); }
};

/// The point (i, k) that belongs to q, r and j; it may lie outside.
struct TransposedPoint {
  Scalar input;
  Scalar weight;
  Scalar divisible;  ///< undefined where it always is
};

TransposedPoint point_of(const TransposedAxis& axis, const Scalar& q, const Scalar& r, const Scalar& j) {
  if (!axis.is_mixed()) return {q - j * axis.dilation, r + j * axis.stride, {}};
  const Scalar distance = q - j * axis.dilation;
  return {floor_div(distance, axis.stride), j, floor_mod(distance, axis.stride) == 0};
}

std::vector<TransposedAxis> transposed_axes(const OperatorContext& context, const Dims& input,
                                            const Dims& weight) {
  using AutoPad = WindowAttributes::AutoPad;
  const Dims spatial = spatial_dims(context, input, 1);
  const Dims kernel = weight_kernel(context, input, weight);
  const size_t rank = spatial.size();
  const WindowAttributes attributes = window_attributes(context, rank);
  const std::vector<int64_t> extra = spatial_attribute(context, "output_padding", rank, 0, 0);
  const bool stated = !context.integers("output_shape").empty();
  const std::vector<int64_t> stated_shape = spatial_attribute(context, "output_shape", rank, 0, 0);
  const bool upper = attributes.auto_pad == AutoPad::same_upper;
  std::vector<TransposedAxis> axes;
  for (size_t d = 0; d < rank; ++d) {
    TransposedAxis axis;
    axis.input = spatial[d];
    axis.kernel = kernel[d];
    axis.stride = attributes.strides[d];
    axis.dilation = attributes.dilations[d];
    const Dim size = axis.full() + extra[d];
    if (stated || upper || attributes.auto_pad == AutoPad::same_lower) {
      // The output size is given and the padding follows from it; what exceeds the full size stays zero at
      // the end.
      axis.output = stated ? Dim(stated_shape[d]) : axis.input * axis.stride;
      const Dim total = max(Dim(0), size - axis.output);
      const Dim half = floor_div(total, Dim(2));
      axis.pad = upper ? half : total - half;
    } else {
      const bool padded = attributes.auto_pad == AutoPad::notset;
      axis.pad = padded ? attributes.pads[d] : 0;
      axis.output = padded ? size - attributes.pads[d] - attributes.pads[rank + d] : size;
    }
    context.check(context.may_be_at_least(axis.output, 0), "the padding exceeds the output");
    axes.push_back(axis);
  }
  return axes;
}

/// The sum at every unpadded position, as [N, M, (q, r)...] with q and r named factors. `widened`: terms in
/// the compute type.
TensorRef full_sum(Builder& b, const TensorRef& x, const TensorRef& w,
                   const std::vector<TransposedAxis>& axes, int64_t groups, const Dim& group_inputs,
                   bool widened) {
  const Dim group_outputs = w.dims()[1];
  Dims points = {x.dims()[0], Dim(groups), group_outputs};
  std::vector<std::vector<int>> merge = {{0}, {1, 2}};
  Dims reduced = {group_inputs};
  for (const TransposedAxis& axis : axes) {
    const int next = static_cast<int>(points.size());
    points.insert(points.end(), {axis.steps(), Dim(axis.phases())});
    merge.push_back({next, next + 1});
    reduced.push_back(axis.taps());
  }
  return b.reduce_grouped(Monoid::Kind::sum, points, merge, reduced, [&](const Indices& i, const Indices& j) {
    const Scalar channel = i[1] * group_inputs + j[0];
    Indices input = {i[0], channel};
    Indices weight = {channel, i[2]};
    Scalar divisible = b.boolean(true);
    for (size_t d = 0; d < axes.size(); ++d) {
      const TransposedPoint point = point_of(axes[d], i[3 + 2 * d], i[4 + 2 * d], j[1 + d]);
      input.push_back(point.input);
      weight.push_back(point.weight);
      if (point.divisible.defined()) divisible = logical_and(divisible, point.divisible);
    }
    const Scalar value = select(divisible, x.padded(input, 0.0), b.real(x.type(), 0));
    const Scalar factor = w.padded(weight, 0.0);
    return widened ? widen(value) * widen(factor) : value * factor;
  });
}

void define_conv_transpose(const OperatorContext& context, Builder& b) {
  const TensorRef x = real_operand(b, context, 0);
  const TensorRef w = real_operand(b, context, 1);
  context.check(w.type() == x.type(), "the weight must have the type of the input");
  const std::vector<TransposedAxis> axes = transposed_axes(context, x.dims(), w.dims());
  const int64_t groups = group_count(context);
  if (!context.equal(x.dims()[1], w.dims()[0])) {
    context.fail(fmt::format("the input {} has not the channels of the weight {}", to_string(x.dims()),
                             to_string(w.dims())));
  }
  const Dim group_inputs = split_channels(context, x.dims()[1], groups, "input");
  Dims result = {x.dims()[0], groups * w.dims()[1]};
  for (const TransposedAxis& axis : axes) result.push_back(axis.output);
  TensorRef bias;
  if (context.has(2)) {
    context.check(context.type(2) == x.type(), "the bias must have the type of the input");
    bias = shaped_operand(b, context, 2, {result[1]}, "the bias");
  }
  const TensorRef full = full_sum(b, x, w, axes, groups, group_inputs, bias.defined());
  b.output(b.map(result, [&](const Indices& i) {
    Indices at = {i[0], i[1]};
    for (size_t d = 0; d < axes.size(); ++d) at.push_back(i[2 + d] + axes[d].pad);
    const Scalar sum = full.padded(at, 0.0);
    return bias.defined() ? cast(x.type(), sum + widen(bias({i[1]}))) : sum;
  }));
}

}  // namespace

void transposed_convolution_operators(std::vector<OperatorEntry>& table) {
  table.push_back({"", "ConvTranspose", 1, define_conv_transpose});
}

}  // namespace axrun::ir
