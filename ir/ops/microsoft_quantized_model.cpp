// com.microsoft: operators on 8-bit tensors that quantisers make of Gemm, Softmax, Where and Conv.
#include "ir/ops/microsoft.h"
#include "ir/ops/microsoft_quantized_parts.h"
#include "ir/ops/requirements.h"
#include "ir/ops/softmax.h"

namespace axrun::ir {
namespace {

using quantized_parts::byte_operand;
using quantized_parts::column_parameter;
using quantized_parts::Quantization;
using quantized_parts::single;

using enum ElementType;

/// alpha a_scale b_scale (A' B' + C), the sum exact in i32; quantised again where there is a scale for it,
/// else f32. Inputs: A, scale, zero point, B, scale and zero point (of the whole or per column), C, scale and
/// zero point of the result.
void qgemm(const OperatorContext& context, Builder& b) {
  const TensorRef x = byte_operand(context, b, 0);
  const TensorRef y = byte_operand(context, b, 3);
  require_rank(context, 0, 2);
  require_rank(context, 3, 2);
  const bool x_turned = flag(context, "transA", false);
  const bool y_turned = flag(context, "transB", false);
  const Dim& rows = x.dims()[x_turned ? 1 : 0];
  const Dim& depth = x.dims()[x_turned ? 0 : 1];
  const Dim& columns = y.dims()[y_turned ? 0 : 1];
  context.check(context.equal(depth, y.dims()[y_turned ? 1 : 0]), "A and B do not fit together");
  const Quantization left(context, b, 1, 2, x.type());
  const TensorRef scale = typed_operand(b, context, 4, {f32});
  TensorRef zero;
  if (context.has(5)) zero = typed_operand(b, context, 5, {y.type()});
  const Dims dims = {rows, columns};
  TensorRef added;
  if (context.has(6)) {
    added = typed_operand(b, context, 6, {i32});
    context.check(context.broadcasts_to(added.dims(), dims), "C does not broadcast to the product");
  }
  const TensorRef sum = b.sum(dims, {depth}, [&](const Indices& i, const Indices& r) {
    const Scalar a = x_turned ? x({r[0], i[0]}) : x({i[0], r[0]});
    const Scalar w = y_turned ? y({i[1], r[0]}) : y({r[0], i[1]});
    const Scalar w_zero = zero.defined() ? column_parameter(context, b, zero, columns, i[1], "a zero point")
                                         : b.integer(0, y.type());
    return left.centered(a) * centered(w, w_zero);
  });
  const double alpha = context.real("alpha", 1);
  const auto total = [&](const Indices& i) {
    return added.defined() ? sum(i) + broadcast_load(context, added, i, dims) : sum(i);
  };
  const auto factor = [&](const Indices& i) {
    const Scalar own = cast(f64, column_parameter(context, b, scale, columns, i[1], "a scale"));
    return single(single(left.scale() * alpha) * own);
  };
  if (!context.has(7)) {
    b.output(
        b.map(dims, [&](const Indices& i) { return cast(f32, single(cast(f64, total(i))) * factor(i)); }));
    return;
  }
  context.check(context.has(8), "the result's zero point is missing");
  const ElementType type = byte_operand(context, b, 8).type();
  const Quantization to(context, b, 7, 8, type);
  b.output(b.map(dims, [&](const Indices& i) {
    const Scalar multiplier = single(factor(i) / to.scale());
    return quantized(type, single(single(cast(f64, total(i))) * multiplier), to.zero());
  }));
}

/// Softmax over one axis (`opset` 13) or over all from one on, of the numbers that the input stands for.
void qlinear_softmax(const OperatorContext& context, Builder& b) {
  const TensorRef x = byte_operand(context, b, 0);
  const Quantization from(context, b, 1, 2, x.type());
  const Quantization to(context, b, 3, 4, x.type());
  context.check(context.has_attribute("opset"), "attribute 'opset' is needed");
  const bool one_axis = context.integer("opset", 13) >= 13;
  const int first = context.axis(context.integer("axis", -1), x.rank());
  std::vector<int> axes = {first};
  for (int k = first + 1; !one_axis && k < x.rank(); ++k) axes.push_back(k);
  const SoftmaxParts parts = softmax_parts(
      b, x.dims(), axes, [&](const Indices& i) { return cast(f64, from.centered(x(i))) * from.scale(); });
  b.output(b.map(x.dims(), [&](const Indices& i) {
    return quantized(x.type(), softmax_at(parts, i) / to.scale(), to.zero());
  }));
}

/// Inputs: condition, then X and Y with scale and zero point each, then scale and zero point of the result.
void qlinear_where(const OperatorContext& context, Builder& b) {
  require_type(context, 0, TypeClass::boolean);
  const TensorRef condition = operand(b, context, 0);
  const TensorRef x = byte_operand(context, b, 1);
  const TensorRef y = typed_operand(b, context, 4, {x.type()});
  const Quantization of_x(context, b, 2, 3, x.type());
  const Quantization of_y(context, b, 5, 6, x.type());
  const Quantization to(context, b, 7, 8, x.type());
  const Dims dims = context.broadcast({condition.dims(), x.dims(), y.dims()});
  b.output(b.map(dims, [&](const Indices& i) {
    const auto again = [&](const Quantization& from, const TensorRef& value) {
      return to.quantize(x.type(), from.dequantized(broadcast_load(context, value, i, dims)));
    };
    return select(broadcast_load(context, condition, i, dims), again(of_x, x), again(of_y, y));
  }));
}

void qlinear_conv(const OperatorContext& context, Builder& b) {
  if (flag(context, "channels_last", false)) context.unsupported("attribute 'channels_last'");
  define_as(context, b, "QLinearConv", 10);
}

}  // namespace

void microsoft_quantized_model_operators(std::vector<OperatorEntry>& table) {
  table.insert(table.end(), {{microsoft_domain, "QGemm", 1, qgemm},
                             {microsoft_domain, "QLinearConv", 1, qlinear_conv},
                             {microsoft_domain, "QLinearSoftmax", 1, qlinear_softmax},
                             {microsoft_domain, "QLinearWhere", 1, qlinear_where}});
}

}  // namespace axrun::ir
