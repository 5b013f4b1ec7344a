#include "ir/ops/convolution.h"

#include <fmt/format.h>

#include <limits>

#include "ir/ops/compute.h"

namespace axrun::ir {
namespace {

/// The parts that a convolution and its transpose share; `outputs` is the number of output channels.
Convolution grouped(const Window& window, const Dim& batch, int64_t groups, const Dim& group_inputs,
                    const Dim& group_outputs) {
  Convolution c;
  c.window = window;
  c.group_inputs = group_inputs;
  c.group_outputs = group_outputs;
  c.axes = joined({batch, Dim(groups), group_outputs}, window.output);
  c.merge = {{0}, {1, 2}};
  for (size_t d = 0; d < window.rank(); ++d) c.merge.push_back({static_cast<int>(d) + 3});
  c.reduced = joined({group_inputs}, window.kernel);
  c.result = joined({batch, groups * group_outputs}, window.output);
  return c;
}

}  // namespace

int64_t group_count(const OperatorContext& context) {
  return bounded_integer(context, "group", 1, 1, std::numeric_limits<int32_t>::max());
}

Dim split_channels(const OperatorContext& context, const Dim& channels, int64_t groups, const char* what) {
  if (!context.equal(floor_mod(channels, Dim(groups)), Dim(0))) {
    context.fail(
        fmt::format("{} {} channels do not split into {} groups", channels.to_string(), what, groups));
  }
  return floor_div(channels, Dim(groups));
}

Dims weight_kernel(const OperatorContext& context, const Dims& input, const Dims& weight) {
  if (weight.size() != input.size()) {
    context.fail(
        fmt::format("the weight {} and the input {} differ in rank", to_string(weight), to_string(input)));
  }
  const Dims kernel = part(weight, 2, weight.size());
  for (const Dim& size : kernel) {
    context.check(context.may_be_at_least(size, 1), "a kernel dimension is 0");
  }
  check_kernel_shape(context, kernel);
  return kernel;
}

Convolution convolution_of(const OperatorContext& context, const Dims& input, const Dims& weight) {
  const Dims spatial = spatial_dims(context, input, 1);
  const Dims kernel = weight_kernel(context, input, weight);
  const int64_t groups = group_count(context);
  if (!context.equal(input[1], weight[1] * Dim(groups))) {
    context.fail(fmt::format("the input {} has not the channels of the weight {} in {} groups",
                             to_string(input), to_string(weight), groups));
  }
  return grouped(sliding_window(context, spatial, kernel), input[0], groups, weight[1],
                 split_channels(context, weight[0], groups, "output"));
}

TensorRef convolution_sum(Builder& b, const Convolution& c,
                          const std::function<Scalar(const ConvolutionPoint&)>& term) {
  const auto body = [&](const Indices& i, const Indices& r) {
    const Indices k = part(r, 1, r.size());
    ConvolutionPoint at;
    at.channel = i[1] * c.group_outputs + i[2];
    at.input = joined({i[0], i[1] * c.group_inputs + r[0]}, c.window.at(part(i, 3, i.size()), k));
    at.weight = joined({at.channel, r[0]}, k);
    return term(at);
  };
  return b.reduce_grouped(Monoid::Kind::sum, c.axes, c.merge, c.reduced, body);
}

namespace {

/// `sum` plus the bias of input 2, if there is one, in the type of input 0.
TensorRef with_bias(const OperatorContext& context, Builder& b, const TensorRef& sum, const Convolution& c) {
  if (!context.has(2)) return sum;
  context.check(context.type(2) == context.type(0), "the bias must have the type of the input");
  const TensorRef bias = shaped_operand(b, context, 2, {c.result[1]}, "the bias");
  const ElementType type = context.type(0);
  return b.map(c.result, [&](const Indices& i) { return cast(type, sum(i) + widen(bias({i[1]}))); });
}

/// What the terms of the sum are computed in: its own type if the sum is the result, so that it is rounded
/// once, and the compute type if a bias follows.
Scalar term_operand(const OperatorContext& context, const Scalar& x) { return context.has(2) ? widen(x) : x; }

/// Y[n, m, o] = B[m] + sum over c, k of X[n, c, o * stride + k * dilation - pad] W[m, c, k].
void define_conv(const OperatorContext& context, Builder& b) {
  const TensorRef x = real_operand(b, context, 0);
  const TensorRef w = real_operand(b, context, 1);
  context.check(w.type() == x.type(), "the weight must have the type of the input");
  const Convolution c = convolution_of(context, x.dims(), w.dims());
  const TensorRef sum = convolution_sum(b, c, [&](const ConvolutionPoint& at) {
    return term_operand(context, x.padded(at.input, 0.0)) * term_operand(context, w(at.weight));
  });
  b.output(with_bias(context, b, sum, c));
}

}  // namespace

void convolution_operators(std::vector<OperatorEntry>& table) {
  table.insert(table.end(), {
                                {"", "Conv", 1, define_conv},
                            });
  transposed_convolution_operators(table);
  quantized_convolution_operators(table);
  deformable_convolution_operators(table);
}

}  // namespace axrun::ir
