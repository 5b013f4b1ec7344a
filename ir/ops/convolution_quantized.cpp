// ConvInteger and QLinearConv: exact convolutions of 8-bit tensors. Padding is the input's zero point.
#include "ir/ops/compute.h"
#include "ir/ops/convolution.h"
#include "ir/ops/quantize.h"

namespace axrun::ir {
namespace {

/// A parameter of the weight or the input: one element, or (of the weight) one per output channel.
Scalar channel_parameter(const OperatorContext& context, Builder& b, const TensorRef& x, const Dim& channels,
                         const Scalar& channel) {
  if (x.rank() == 0 || (x.rank() == 1 && context.is_one(x.dims()[0]))) {
    return only_element(context, b, x, "a scale or zero point");
  }
  check_dims(context, x, {channels}, "a scale or zero point");
  return x({channel});
}

/// sum (x - x_zero)(w - w_zero) in i32, which wraps. Both are centred first: the padding is 0 then.
TensorRef exact_convolution(const OperatorContext& context, Builder& b, const Convolution& c,
                            const TensorRef& x, const TensorRef& x_zero, const TensorRef& w,
                            const TensorRef& w_zero) {
  const TensorRef input = b.map(x.dims(), [&](const Indices& i) {
    const Scalar zero = x_zero.defined() ? only_element(context, b, x_zero, "the input's zero point")
                                         : b.integer(0, x.type());
    return centered(x(i), zero);
  });
  const TensorRef weight = b.map(w.dims(), [&](const Indices& i) {
    const Scalar zero =
        w_zero.defined() ? channel_parameter(context, b, w_zero, c.result[1], i[0]) : b.integer(0, w.type());
    return centered(w(i), zero);
  });
  return convolution_sum(
      b, c, [&](const ConvolutionPoint& at) { return input.padded(at.input, 0.0) * weight(at.weight); });
}

TensorRef zero_point(const OperatorContext& context, Builder& b, int k, int of) {
  if (!context.has(k)) return {};
  context.check(context.type(k) == context.type(of), "a zero point must have the type of its tensor");
  return operand(b, context, k);
}

void define_conv_integer(const OperatorContext& context, Builder& b) {
  check_quantized(context, 0);
  check_quantized(context, 1);
  const TensorRef x = operand(b, context, 0);
  const TensorRef w = operand(b, context, 1);
  const Convolution c = convolution_of(context, x.dims(), w.dims());
  b.output(
      exact_convolution(context, b, c, x, zero_point(context, b, 2, 0), w, zero_point(context, b, 3, 1)));
}

/// y = quantize((conv(x, w) + B) x_scale w_scale), the sum exact in i32.
void define_qlinear_conv(const OperatorContext& context, Builder& b) {
  for (int k : {0, 3, 7}) check_quantized(context, k);
  const TensorRef x = operand(b, context, 0);
  const TensorRef x_scale = typed_operand(b, context, 1, {ElementType::f32});
  const TensorRef x_zero = zero_point(context, b, 2, 0);
  const TensorRef w = operand(b, context, 3);
  const TensorRef w_scale = typed_operand(b, context, 4, {ElementType::f32});
  const TensorRef w_zero = zero_point(context, b, 5, 3);
  const TensorRef y_scale = typed_operand(b, context, 6, {ElementType::f32});
  const TensorRef y_zero = operand(b, context, 7);
  const Convolution c = convolution_of(context, x.dims(), w.dims());
  TensorRef bias;
  if (context.has(8)) {
    typed_operand(b, context, 8, {ElementType::i32});
    bias = shaped_operand(b, context, 8, {c.result[1]}, "the bias");
  }
  const TensorRef sum = exact_convolution(context, b, c, x, x_zero, w, w_zero);
  b.output(b.map(c.result, [&](const Indices& i) {
    const Scalar total = bias.defined() ? sum(i) + bias({i[1]}) : sum(i);
    return requantized(y_zero.type(), total, only_element(context, b, x_scale, "the input's scale"),
                       channel_parameter(context, b, w_scale, c.result[1], i[1]),
                       only_element(context, b, y_scale, "the output's scale"),
                       only_element(context, b, y_zero, "the output's zero point"));
  }));
}

}  // namespace

void quantized_convolution_operators(std::vector<OperatorEntry>& table) {
  table.insert(table.end(), {
                                {"", "ConvInteger", 10, define_conv_integer},
                                {"", "QLinearConv", 10, define_qlinear_conv},
                            });
}

}  // namespace axrun::ir
