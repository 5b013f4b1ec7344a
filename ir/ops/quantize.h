#pragma once

#include "ir/operator.h"

namespace axrun::ir {

/// real value -> saturate(round_half_even(value) + zero_point) of an integer type; to float8 types the value
/// plus zero point is converted as Cast does, saturating if `saturate`. `value` is f32 or f64.
Scalar quantized(ElementType type, const Scalar& value, const Scalar& zero_point, bool saturate = true);

/// How an exact integer sum becomes a quantised output: quantized(sum * multiplier) with the product rounded
/// to f32, where the multiplier is left_scale * right_scale / result_scale, each operation rounded to f32.
/// These are the roundings of a requantisation in f32, as inference runtimes do it; the specification leaves
/// them open. `sum` is i32 or, of float8 operands, real.
Scalar requantized(ElementType type, const Scalar& sum, const Scalar& left_scale, const Scalar& right_scale,
                   const Scalar& result_scale, const Scalar& zero_point);

/// x (f32) as DynamicQuantizeLinear quantises it: to u8, over the range of all its elements and 0.
struct QuantizedBytes {
  TensorRef values;
  TensorRef scale;  ///< f32, one number
  TensorRef zero;   ///< u8, one number
};
QuantizedBytes quantized_to_bytes(Builder& b, const TensorRef& x);

/// Refuses a quantised operand (inputs, weights) of a type that the operators of opset 10 do not take: they
/// take i8 and u8; QLinearMatMul takes the float8 types from opset 21 on.
void check_quantized(const OperatorContext& context, int k, bool float8 = false);
/// value - zero_point as i32, or as a real for float8.
Scalar centered(const Scalar& value, const Scalar& zero_point);

}  // namespace axrun::ir
