// com.microsoft: operators on 8-bit tensors with a scale and a zero point for the whole tensor. Each rounds
// to f32 where ONNX Runtime's kernels do, so that values halfway between two results go the same way.
#include <fmt/format.h>

#include "ir/ops/compute.h"
#include "ir/ops/microsoft.h"
#include "ir/ops/microsoft_quantized_parts.h"
#include "ir/ops/quantize.h"
#include "ir/ops/requirements.h"
#include "ir/ops/window.h"

namespace axrun::ir {
namespace {

using quantized_parts::byte_operand;
using quantized_parts::nearest;
using quantized_parts::Quantization;
using quantized_parts::single;

using enum ElementType;

/// Inputs a, its scale and zero point, b, its own, and scale and zero point of the result.
template <typename Rule>
void define_pair(const OperatorContext& context, Builder& b, Rule rule) {
  const TensorRef x = byte_operand(context, b, 0);
  const TensorRef y = byte_operand(context, b, 3);
  context.check(x.type() == y.type(), "A and B must have one type");
  const Quantization qx(context, b, 1, 2, x.type());
  const Quantization qy(context, b, 4, 5, x.type());
  const Quantization qz(context, b, 6, 7, x.type());
  const Dims dims = context.broadcast({x.dims(), y.dims()});
  b.output(b.map(dims, [&](const Indices& i) {
    return nearest(
        x.type(), rule(broadcast_load(context, x, i, dims), broadcast_load(context, y, i, dims), qx, qy, qz));
  }));
}

/// (a_scale (a - a_zero) + b_scale (b - b_zero)) / c_scale + c_zero, with the constant part gathered and each
/// of the two products added in one rounding.
void qlinear_add(const OperatorContext& context, Builder& b) {
  define_pair(context, b,
              [](const Scalar& x, const Scalar& y, const Quantization& qx, const Quantization& qy,
                 const Quantization& qz) {
                const Scalar rx = single(qx.scale() / qz.scale());
                const Scalar ry = single(qy.scale() / qz.scale());
                const Scalar fixed =
                    single(qz.real_zero() - single(rx * qx.real_zero() + single(ry * qy.real_zero())));
                const Scalar with_y = single(cast(f64, y) * ry + fixed);
                return single(cast(f64, x) * rx + with_y);
              });
}

/// (a - a_zero) (b - b_zero) a_scale b_scale / c_scale + c_zero.
void qlinear_mul(const OperatorContext& context, Builder& b) {
  define_pair(context, b,
              [](const Scalar& x, const Scalar& y, const Quantization& qx, const Quantization& qy,
                 const Quantization& qz) {
                const Scalar ratio = single(single(qx.scale() * qy.scale()) / qz.scale());
                const Scalar product = cast(f64, qx.centered(x) * qy.centered(y));
                return single(single(product * ratio) + qz.real_zero());
              });
}

/// quantize(rule(dequantize(x))); inputs x, its scale and zero point, and those of the result.
template <typename Rule>
void define_function(const OperatorContext& context, Builder& b, Rule rule) {
  const TensorRef x = byte_operand(context, b, 0);
  const Quantization from(context, b, 1, 2, x.type());
  const Quantization to(context, b, 3, 4, x.type());
  b.output(
      b.map(x.dims(), [&](const Indices& i) { return to.quantize(x.type(), rule(from.dequantized(x(i)))); }));
}

void qlinear_leaky_relu(const OperatorContext& context, Builder& b) {
  const double alpha = context.real("alpha", 0.01F);
  define_function(context, b, [&](const Scalar& x) { return select(x >= 0.0, x, single(x * alpha)); });
}

void qlinear_sigmoid(const OperatorContext& context, Builder& b) {
  define_function(context, b, [&](const Scalar& x) { return single(1.0 / (exp(-x) + 1.0)); });
}

/// Inputs after scale and zero point of the result: x, scale and zero point, for each part.
void qlinear_concat(const OperatorContext& context, Builder& b) {
  const int parts = (context.inputs() - 2) / 3;
  context.check(parts > 0 && context.inputs() == 2 + 3 * parts,
                "a list of tensor, scale and zero point is needed");
  context.check(context.has_attribute("axis"), "attribute 'axis' is needed");
  const ElementType type = context.type(1);
  const Quantization to(context, b, 0, 1, type);
  std::vector<TensorRef> x;
  std::vector<Dim> first;
  Dims dims;
  size_t axis = 0;
  for (int k = 0; k < parts; ++k) {
    x.push_back(typed_operand(b, context, 2 + 3 * k, {type}));
    Dims expected = x.back().dims();
    if (k == 0) {
      axis = static_cast<size_t>(context.axis(context.integer("axis", 0), x[0].rank()));
      dims = expected;
      dims[axis] = Dim(0);
    }
    context.check(expected.size() == dims.size(), "the inputs differ in rank");
    first.push_back(dims[axis]);
    const Dim total = dims[axis] + expected[axis];
    dims[axis] = expected[axis];
    check_dims(context, x.back(), dims, fmt::format("input {}", 2 + 3 * k));
    dims[axis] = total;
  }
  b.output(b.map(dims, [&](const Indices& i) {
    Scalar value;
    for (size_t k = x.size(); k-- > 0;) {
      const int input = static_cast<int>(2 + 3 * k);
      const Quantization from(context, b, input + 1, input + 2, type);
      Indices at = i;
      at[axis] = i[axis] - first[k];
      const Scalar own = to.quantize(type, from.dequantized(x[k].padded(at, 0.0)));
      value = value.defined() ? select(i[axis] < first[k] + x[k].dims()[axis], own, value) : own;
    }
    return value;
  }));
}

/// x as (batch, channel, spatial...) at such indices, whichever of its layouts it has.
struct Image {
  TensorRef x;
  bool channels_last = false;

  Image(const OperatorContext& context, Builder& b)
      : x(byte_operand(context, b, 0)), channels_last(flag(context, "channels_last", false)) {
    context.check(x.rank() >= 3, fmt::format("an input of shape {}", to_string(x.dims())));
  }
  template <typename T>
  std::vector<T> inside(const std::vector<T>& outside) const {
    if (!channels_last) return outside;
    std::vector<T> result = {outside[0], outside.back()};
    result.insert(result.end(), outside.begin() + 1, outside.end() - 1);
    return result;
  }
  template <typename T>
  std::vector<T> outside(const std::vector<T>& inside) const {
    if (!channels_last) return inside;
    std::vector<T> result = {inside[0]};
    result.insert(result.end(), inside.begin() + 2, inside.end());
    result.push_back(inside[1]);
    return result;
  }
};

/// The exact sum of the centred values times one factor.
void qlinear_global_average_pool(const OperatorContext& context, Builder& b) {
  const Image image(context, b);
  const TensorRef& x = image.x;
  const Quantization from(context, b, 1, 2, x.type());
  const Quantization to(context, b, 3, 4, x.type());
  const Dims dims = image.inside(x.dims());
  const Dims spatial = part(dims, 2, dims.size());
  const TensorRef sums = b.sum({dims[0], dims[1]}, spatial, [&](const Indices& i, const Indices& r) {
    return from.centered(x(image.outside(joined(i, r))));
  });
  const Dims result = image.outside(joined(Dims{dims[0], dims[1]}, Dims(spatial.size(), Dim(1))));
  b.output(b.map(result, [&](const Indices& i) {
    const Indices at = image.inside(i);
    const Scalar count = count_of(b, f64, spatial);
    const Scalar factor = single(from.scale() / single(to.scale() * count));
    return quantized(x.type(), single(cast(f64, sums({at[0], at[1]})) * factor), to.zero());
  }));
}

/// The average of the dequantised window.
void qlinear_average_pool(const OperatorContext& context, Builder& b) {
  const Image image(context, b);
  const TensorRef& x = image.x;
  const Quantization from(context, b, 1, 2, x.type());
  const Quantization to(context, b, 3, 4, x.type());
  const Dims dims = image.inside(x.dims());
  const Dims spatial = part(dims, 2, dims.size());
  const bool include_pad = flag(context, "count_include_pad", false);
  const Window window = sliding_window(context, spatial, kernel_shape(context, spatial.size()),
                                       flag(context, "ceil_mode", false));
  const Dims result = joined(Dims{dims[0], dims[1]}, window.output);
  // Per dimension of the window: whether a point counts.
  const auto counts = [&](const Indices& at, size_t d) {
    const Dim low = include_pad ? Dim(0) - window.pads_begin[d] : Dim(0);
    const Dim high = include_pad ? spatial[d] + window.pads_end[d] : spatial[d];
    return logical_and(at[d] >= low, at[d] < high);
  };
  const auto window_at = [&](const Indices& i, const Indices& k) {
    return window.at(part(i, 2, i.size()), k);
  };
  const TensorRef sums = b.sum(result, window.kernel, [&](const Indices& i, const Indices& k) {
    const Indices at = window_at(i, k);
    Scalar inside = b.boolean(true);
    for (size_t d = 0; d < at.size(); ++d) {
      inside = logical_and(inside, logical_and(at[d] >= 0, at[d] < spatial[d]));
    }
    const Scalar value = x.guarded(image.outside(joined(part(i, 0, 2), at)), inside, b.literal(x.type(), 0));
    return select(inside, from.dequantized(value), b.literal(f64, 0));
  });
  const TensorRef points = b.sum(window.output, window.kernel, [&](const Indices& i, const Indices& k) {
    const Indices at = window.at(i, k);
    Scalar counted = b.boolean(true);
    for (size_t d = 0; d < at.size(); ++d) counted = logical_and(counted, counts(at, d));
    return cast(f64, counted);
  });
  b.output(b.map(image.outside(result), [&](const Indices& i) {
    const Indices at = image.inside(i);
    const Scalar average = single(sums(at) / points(part(at, 2, at.size())));
    return nearest(x.type(), single(single(average / to.scale()) + to.real_zero()));
  }));
}

void quantize_linear(const OperatorContext& context, Builder& b) {
  define_as(context, b, "QuantizeLinear", 21);
}
void dequantize_linear(const OperatorContext& context, Builder& b) {
  define_as(context, b, "DequantizeLinear", 21);
}

}  // namespace

void microsoft_quantized_operators(std::vector<OperatorEntry>& table) {
  table.insert(table.end(), {{microsoft_domain, "DequantizeLinear", 1, dequantize_linear},
                             {microsoft_domain, "QLinearAdd", 1, qlinear_add},
                             {microsoft_domain, "QLinearAveragePool", 1, qlinear_average_pool},
                             {microsoft_domain, "QLinearConcat", 1, qlinear_concat},
                             {microsoft_domain, "QLinearGlobalAveragePool", 1, qlinear_global_average_pool},
                             {microsoft_domain, "QLinearLeakyRelu", 1, qlinear_leaky_relu},
                             {microsoft_domain, "QLinearMul", 1, qlinear_mul},
                             {microsoft_domain, "QLinearSigmoid", 1, qlinear_sigmoid},
                             {microsoft_domain, "QuantizeLinear", 1, quantize_linear}});
}

}  // namespace axrun::ir
