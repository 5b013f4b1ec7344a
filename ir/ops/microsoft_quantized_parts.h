#pragma once

#include "ir/ops/compute.h"
#include "ir/ops/quantize.h"

// What the operators of com.microsoft on 8-bit tensors share. Numbers between stages are f64 that were
// rounded to f32 where ONNX Runtime's kernels round.
namespace axrun::ir::quantized_parts {

inline Scalar single(const Scalar& x) { return cast(ElementType::f64, rounded(ElementType::f32, x)); }
inline Scalar nearest(ElementType type, const Scalar& x) { return cast_saturate(type, round_even(x)); }

/// Scale (f32) and zero point (of type `type`, 0 where absent) of a whole tensor, from inputs `scale` and
/// `zero`.
struct Quantization {
  const OperatorContext& context;
  Builder& b;
  TensorRef scale_tensor;
  TensorRef zero_tensor;

  Quantization(const OperatorContext& c, Builder& builder, int scale_input, int zero_input, ElementType type)
      : context(c), b(builder), scale_tensor(typed_operand(builder, c, scale_input, {ElementType::f32})) {
    if (c.has(zero_input)) zero_tensor = typed_operand(builder, c, zero_input, {type});
  }
  Scalar scale() const { return cast(ElementType::f64, only_element(context, b, scale_tensor, "a scale")); }
  Scalar zero() const {
    return zero_tensor.defined()
               ? cast(ElementType::i32, only_element(context, b, zero_tensor, "a zero point"))
               : b.integer(0, ElementType::i32);
  }
  Scalar real_zero() const { return cast(ElementType::f64, zero()); }
  /// x - zero.
  Scalar centered(const Scalar& x) const { return cast(ElementType::i32, x) - zero(); }
  Scalar dequantized(const Scalar& x) const { return single(cast(ElementType::f64, centered(x)) * scale()); }
  Scalar quantize(ElementType type, const Scalar& value) const {
    return quantized(type, single(value / scale()), zero());
  }
};

inline TensorRef byte_operand(const OperatorContext& context, Builder& b, int k) {
  return typed_operand(b, context, k, {ElementType::u8, ElementType::i8});
}

/// A scale or zero point of a matrix: one element for all of it, or one per column.
inline Scalar column_parameter(const OperatorContext& context, Builder& b, const TensorRef& x,
                               const Dim& columns, const Scalar& column, const std::string& what) {
  if (x.rank() == 0 || (x.rank() == 1 && context.is_one(x.dims()[0])))
    return only_element(context, b, x, what);
  check_dims(context, x, {columns}, what);
  return x({column});
}

}  // namespace axrun::ir::quantized_parts
