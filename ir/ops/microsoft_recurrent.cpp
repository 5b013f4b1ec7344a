// com.microsoft: DynamicQuantizeLSTM, an LSTM whose weights are bytes and whose inputs and states are
// quantised when they are multiplied.
#include "ir/ops/compute.h"
#include "ir/ops/microsoft.h"
#include "ir/ops/recurrent.h"

namespace axrun::ir {
namespace {

/// Scale (input `scale`) and zero point (the next input) per direction or per column, applied to weights
/// [directions, depth, columns] of input `k`: real numbers [directions, columns, depth], as LSTM has them.
TensorRef real_weights(const OperatorContext& context, Builder& b, int k, int scale, int64_t directions) {
  const TensorRef w = typed_operand(b, context, k, {ElementType::u8, ElementType::i8});
  context.check(w.rank() == 3, "W and R must have rank 3");
  const Dims& dims = w.dims();
  context.check(context.equal(dims[0], Dim(directions)), "W and R do not fit the directions");
  const auto parameter = [&](int input, std::initializer_list<ElementType> types) {
    const TensorRef p = typed_operand(b, context, input, types);
    context.check(p.rank() == 1 || p.rank() == 2, "scales and zero points must have rank 1 or 2");
    check_dims(context, p, p.rank() == 1 ? Dims{dims[0]} : Dims{dims[0], dims[2]}, "a scale or zero point");
    return p;
  };
  const TensorRef scales = parameter(scale, {ElementType::f32});
  const TensorRef zeros = parameter(scale + 1, {w.type()});
  const auto at = [](const TensorRef& p, const Indices& i) {
    return p.rank() == 1 ? p({i[0]}) : p({i[0], i[1]});
  };
  return b.map({dims[0], dims[2], dims[1]}, [&](const Indices& i) {
    const Scalar whole = cast(ElementType::i32, w({i[0], i[2], i[1]})) - cast(ElementType::i32, at(zeros, i));
    return cast(ElementType::f32, whole) * at(scales, i);
  });
}

void dynamic_quantize_lstm(const OperatorContext& context, Builder& b) {
  context.check(!context.has_attribute("layout"), "there is no attribute 'layout'");
  define_lstm(context, b, [&](RecurrentNode& node) {
    node.quantised = true;
    node.weight = real_weights(context, b, 1, 8, node.directions);
    node.recurrence = real_weights(context, b, 2, 10, node.directions);
    node.input = through_bytes(b, node.input);
  });
}

}  // namespace

void microsoft_recurrent_operators(std::vector<OperatorEntry>& table) {
  table.push_back({microsoft_domain, "DynamicQuantizeLSTM", 1, dynamic_quantize_lstm});
}

}  // namespace axrun::ir
