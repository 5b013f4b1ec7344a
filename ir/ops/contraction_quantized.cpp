// MatMulInteger and QLinearMatMul: exact products of 8-bit matrices.
#include <fmt/format.h>

#include "ir/ops/compute.h"
#include "ir/ops/contraction.h"
#include "ir/ops/quantize.h"

namespace axrun::ir {
namespace {

/// A matrix minus its zero point, which is one element, a vector over `axis` (the rows of the left matrix,
/// the columns of the right one) or a tensor that broadcasts to the matrix. Integers become i32.
TensorRef centered_matrix(const OperatorContext& context, Builder& b, const TensorRef& x,
                          const TensorRef& zero, int axis) {
  if (!zero.defined()) {
    return b.map(x.dims(), [&](const Indices& i) { return centered(x(i), b.literal(x.type(), 0)); });
  }
  context.check(zero.type() == x.type(), "a zero point must have the type of its matrix");
  const bool single = zero.rank() == 0 || (zero.rank() == 1 && context.is_one(zero.dims()[0]));
  const bool vector = !single && zero.rank() == 1 && axis >= 0;
  if (vector) {
    check_dims(context, zero, {x.dims()[static_cast<size_t>(axis)]}, "a zero point");
  } else if (!single && !context.broadcasts_to(zero.dims(), x.dims())) {
    context.fail(
        fmt::format("a zero point of shape {} does not fit {}", to_string(zero.dims()), to_string(x.dims())));
  }
  return b.map(x.dims(), [&](const Indices& i) {
    if (single) return centered(x(i), only_element(context, b, zero, "a zero point"));
    if (vector) return centered(x(i), zero({i[static_cast<size_t>(axis)]}));
    return centered(x(i), broadcast_load(context, zero, i, x.dims()));
  });
}

/// sum over k of (left - left_zero)(right - right_zero), exact.
TensorRef exact_product(const OperatorContext& context, Builder& b, const MatrixProduct& shape,
                        const TensorRef& left, const TensorRef& left_zero, const TensorRef& right,
                        const TensorRef& right_zero) {
  // A vector has neither rows nor columns that parameters could differ over.
  const int rows = shape.row_vector ? -1 : left.rank() - 2;
  const int columns = shape.column_vector ? -1 : right.rank() - 1;
  const TensorRef a = centered_matrix(context, b, left, left_zero, rows);
  const TensorRef c = centered_matrix(context, b, right, right_zero, columns);
  return matrix_sum(b, shape, [&](const ProductPoint& at, const Scalar& k) {
    return load_left(context, shape, a, at, k) * load_right(context, shape, c, at, k);
  });
}

/// Y = (A - a_zero_point) (B - b_zero_point) in i32, which wraps.
void define_matmul_integer(const OperatorContext& context, Builder& b) {
  check_quantized(context, 0);
  check_quantized(context, 1);
  const TensorRef left = operand(b, context, 0);
  const TensorRef right = operand(b, context, 1);
  const MatrixProduct shape = matrix_product(context, left.dims(), right.dims());
  const auto optional = [&](int k) { return context.has(k) ? operand(b, context, k) : TensorRef(); };
  b.output(exact_product(context, b, shape, left, optional(2), right, optional(3)));
}

/// y = quantize((a - a_zero_point) a_scale (b - b_zero_point) b_scale), the sum exact in i32.
void define_qlinear_matmul(const OperatorContext& context, Builder& b) {
  const bool float8 = context.version() >= 21;
  for (int k : {0, 3, 7}) check_quantized(context, k, float8);
  for (int k : {1, 4, 6}) {
    const bool any = context.type(k) == ElementType::f32 || (float8 && is_real_type(context.type(k)));
    context.check(any && context.type(k) != ElementType::f64, "a scale has a type that is not allowed");
  }
  context.check(is_float(context.type(0)) == is_float(context.type(3)),
                "a and b must both be integers or both be float8");
  std::vector<TensorRef> x;
  for (int k = 0; k < 8; ++k) x.push_back(operand(b, context, k));
  const MatrixProduct shape = matrix_product(context, x[0].dims(), x[3].dims());
  const TensorRef sum = exact_product(context, b, shape, x[0], x[2], x[3], x[5]);
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
