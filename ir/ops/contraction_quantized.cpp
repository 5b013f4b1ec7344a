// MatMulInteger and QLinearMatMul: exact products of 8-bit matrices.
#include "ir/ops/compute.h"
#include "ir/ops/contraction.h"
#include "ir/ops/quantize.h"

namespace axrun::ir {
namespace {

/// Y = (A - a_zero_point) (B - b_zero_point) in i32, which wraps.
void define_matmul_integer(const OperatorContext& context, Builder& b) {
  check_quantized(context, 0);
  check_quantized(context, 1);
  const TensorRef left = operand(b, context, 0);
  const TensorRef right = operand(b, context, 1);
  const MatrixProduct shape = matrix_product(context, left.dims(), right.dims());
  const auto zero_point = [&](int k, int of) {
    if (!context.has(k)) return TensorRef();
    context.check(context.type(k) == context.type(of), "a zero point must have the type of its matrix");
    return operand(b, context, k);
  };
  const TensorRef left_zero = zero_point(2, 0);
  const TensorRef right_zero = zero_point(3, 1);
  b.output(matrix_sum(b, shape, [&](const ProductPoint& at, const Scalar& k) {
    const Scalar zero = b.integer(0, ElementType::i32);
    return centered(load_left(context, shape, left, at, k),
                    left_zero.defined() ? load_row_parameter(context, shape, left_zero, at) : zero) *
           centered(load_right(context, shape, right, at, k),
                    right_zero.defined() ? load_column_parameter(context, shape, right_zero, at) : zero);
  }));
}

/// y = quantize((a - a_zero_point) a_scale (b - b_zero_point) b_scale), the sum exact in i32.
void define_qlinear_matmul(const OperatorContext& context, Builder& b) {
  const bool float8 = context.version() >= 21;
  check_quantized(context, 0, float8);
  check_quantized(context, 3, float8);
  check_quantized(context, 7, float8);
  for (int k : {1, 4, 6}) {
    const bool any = context.type(k) == ElementType::f32 || (float8 && is_real_type(context.type(k)));
    context.check(any && context.type(k) != ElementType::f64, "a scale has a type that is not allowed");
  }
  context.check(context.type(2) == context.type(0) && context.type(5) == context.type(3),
                "a zero point must have the type of its matrix");
  context.check(is_float(context.type(0)) == is_float(context.type(3)),
                "a and b must both be integers or both be float8");
  TensorRef x[8];
  for (int k = 0; k < 8; ++k) x[k] = operand(b, context, k);
  const MatrixProduct shape = matrix_product(context, x[0].dims(), x[3].dims());
  const TensorRef sum = matrix_sum(b, shape, [&](const ProductPoint& at, const Scalar& k) {
    return centered(load_left(context, shape, x[0], at, k), load_row_parameter(context, shape, x[2], at)) *
           centered(load_right(context, shape, x[3], at, k), load_column_parameter(context, shape, x[5], at));
  });
  b.output(b.map(shape.result(), [&](const Indices& i) {
    const ProductPoint at = product_point(b, shape, i);
    return requantized(x[7].type(), sum(i), load_row_parameter(context, shape, x[1], at),
                       load_column_parameter(context, shape, x[4], at),
                       load_row_parameter(context, shape, x[6], at),
                       load_row_parameter(context, shape, x[7], at));
  }));
}

}  // namespace

void quantized_contraction_operators(std::vector<OperatorEntry>& table) {
  table.insert(table.end(), {
                                {"", "MatMulInteger", 10, define_matmul_integer},
                                {"", "QLinearMatMul", 10, define_qlinear_matmul},
                            });
}

}  // namespace axrun::ir
