// com.microsoft: matrix products with transposed or quantised sides.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "ir/ops/compute.h"
#include "ir/ops/contraction.h"
#include "ir/ops/microsoft.h"
#include "ir/ops/quantize.h"
#include "ir/ops/requirements.h"

namespace axrun::ir {
namespace {

/// A side of a matrix product seen through a permutation: dimension d of the view is dimension order[d] of x.
struct View {
  TensorRef x;
  std::vector<size_t> order;
  Dims dims;

  /// `batch_first`: the first dimension of x is that of rows and the others before the last are batches;
  /// `swapped`: the last two are transposed after that.
  View(const TensorRef& tensor, bool batch_first, bool swapped) : x(tensor) {
    const size_t rank = x.dims().size();
    for (size_t d = 0; d < rank; ++d) order.push_back(d);
    if (rank < 2) {
      dims = x.dims();
      return;
    }
    if (batch_first) std::rotate(order.begin(), order.begin() + 1, order.end() - 1);
    if (swapped) std::swap(order[rank - 1], order[rank - 2]);
    for (size_t d : order) dims.push_back(x.dims()[d]);
  }

  /// At an index of the view's shape broadcast to `whole`.
  Scalar at(const OperatorContext& context, const Indices& i, const Dims& whole) const {
    const size_t skipped = whole.size() - dims.size();
    Indices own(dims.size());
    for (size_t d = 0; d < dims.size(); ++d) {
      const Scalar& index = i[skipped + d];
      const bool spread = dims[d] != whole[skipped + d] && context.is_one(dims[d]);
      own[order[d]] = spread ? index.builder().integer(0) : index;
    }
    return x(own);
  }
};

/// alpha * A' B'.
void fused_matmul(const OperatorContext& context, Builder& b) {
  const TensorRef left = real_operand(b, context, 0);
  const TensorRef right = real_operand(b, context, 1);
  const View a(left, flag(context, "transBatchA", false), flag(context, "transA", false));
  const View c(right, flag(context, "transBatchB", false), flag(context, "transB", false));
  const MatrixProduct shape = matrix_product(context, a.dims, c.dims);
  const double alpha = context.real("alpha", 1);
  const TensorRef product = matrix_sum(b, shape, [&](const ProductPoint& at, const Scalar& k) {
    const Scalar x = shape.row_vector ? left({k})
                                      : a.at(context, joined(at.batch, {at.row, k}),
                                             joined(shape.batch, {shape.rows, shape.depth}));
    const Scalar y = shape.column_vector ? right({k})
                                         : c.at(context, joined(at.batch, {k, at.column}),
                                                joined(shape.batch, {shape.depth, shape.columns}));
    return widen(x) * widen(y);
  });
  if (alpha == 1 && product.type() == left.type()) return b.output(product);
  b.output(b.map(product.dims(), [&](const Indices& i) { return cast(left.type(), product(i) * alpha); }));
}

/// y[...] = exact sum of (a - a_zero)(b - b_zero) in i32, times a_scale * b_scale, plus the bias. Zero points
/// are given at a point and may be undefined.
void output_scaled_product(const OperatorContext& context, Builder& b, const TensorRef& left,
                           const TensorRef& right,
                           const std::function<Scalar(const ProductPoint&)>& left_zero, int right_zero_input,
                           const std::function<Scalar(const ProductPoint&)>& left_scale,
                           int right_scale_input, int bias_input, ElementType type) {
  const MatrixProduct shape = matrix_product(context, left.dims(), right.dims());
  const TensorRef scale = real_operand(b, context, right_scale_input);
  TensorRef zero;
  if (context.has(right_zero_input)) zero = typed_operand(b, context, right_zero_input, {right.type()});
  TensorRef bias;
  if (context.has(bias_input)) bias = shaped_operand(b, context, bias_input, {shape.columns}, "the bias");
  const Scalar none_given = b.integer(0, ElementType::i32);
  const TensorRef sum = matrix_sum(b, shape, [&](const ProductPoint& at, const Scalar& k) {
    const Scalar x = centered(load_left(context, shape, left, at, k), left_zero(at));
    const Scalar y = centered(load_right(context, shape, right, at, k),
                              zero.defined() ? load_column_parameter(context, shape, zero, at) : none_given);
    return x * y;
  });
  b.output(b.map(shape.result(), [&](const Indices& i) {
    const ProductPoint at = product_point(b, shape, i);
    const Scalar factor = widen(left_scale(at)) * widen(load_column_parameter(context, shape, scale, at));
    Scalar value = cast(ElementType::f32, sum(i)) * factor;
    if (bias.defined()) value = value + widen(bias({at.column}));
    return cast(type, value);
  }));
}

/// A is quantised to u8 first, as DynamicQuantizeLinear does. Inputs: A, B, b_scale, b_zero_point, bias.
void dynamic_quantize_matmul(const OperatorContext& context, Builder& b) {
  typed_operand(b, context, 0, {ElementType::f32});
  check_quantized(context, 1);
  const auto quantised = results_of(context, b, "DynamicQuantizeLinear", 11, 1, 3);
  const auto scale = [&](const ProductPoint&) { return quantised[1]({}); };
  const auto zero = [&](const ProductPoint&) { return quantised[2]({}); };
  output_scaled_product(context, b, quantised[0], operand(b, context, 1), zero, 3, scale, 2, 4,
                        ElementType::f32);
}

/// Inputs: A, B, a_scale, b_scale, a_zero_point, b_zero_point, bias.
void matmul_integer_to_float(const OperatorContext& context, Builder& b) {
  check_quantized(context, 0);
  check_quantized(context, 1);
  const TensorRef left = operand(b, context, 0);
  const TensorRef right = operand(b, context, 1);
  const MatrixProduct shape = matrix_product(context, left.dims(), right.dims());
  const TensorRef scale = real_operand(b, context, 2);
  TensorRef zero;
  if (context.has(4)) zero = typed_operand(b, context, 4, {left.type()});
  const auto left_scale = [&](const ProductPoint& at) {
    return load_row_parameter(context, shape, scale, at);
  };
  const auto left_zero = [&](const ProductPoint& at) {
    return zero.defined() ? load_row_parameter(context, shape, zero, at) : b.integer(0, ElementType::i32);
  };
  output_scaled_product(context, b, left, right, left_zero, 5, left_scale, 3, 6, scale.type());
}

/// Fields of `bits` bits, the lowest first, of the bytes x(row, byte).
Scalar field(const TensorRef& x, const Scalar& row, const Scalar& byte, const Scalar& place, int64_t bits) {
  Builder& b = row.builder();
  const Scalar value = x({row, byte});
  const Scalar shifted = binary(ScalarOp::shift_right, value, cast(ElementType::u8, place * bits));
  return cast(ElementType::i32,
              binary(ScalarOp::bit_and, shifted, b.integer((1 << bits) - 1, ElementType::u8)));
}

/// A times the transpose of a matrix [N, K] quantised in blocks along K. Inputs: A, B (N, blocks, bytes of a
/// block), scales (N, blocks), zero points (N, blocks), packed like B or of the type of A, the block of each
/// of the K rows where they are not in order, and a bias (N).
void matmul_n_bits(const OperatorContext& context, Builder& b) {
  const TensorRef a = real_operand(b, context, 0);
  context.check(a.rank() > 0, "A is a scalar");
  const int64_t depth = bounded_integer(context, "K", 0, 1, int64_t{1} << 31);
  const int64_t columns = bounded_integer(context, "N", 0, 1, int64_t{1} << 31);
  const int64_t bits = context.integer("bits", 4);
  if (bits != 2 && bits != 4 && bits != 8) context.unsupported(fmt::format("{} bits", bits));
  const int64_t block = bounded_integer(context, "block_size", 0, 16, int64_t{1} << 20);
  context.check((block & (block - 1)) == 0, "block_size must be a power of 2");
  context.check(context.equal(a.dims().back(), Dim(depth)),
                fmt::format("A of shape {} for K = {}", to_string(a.dims()), depth));
  if (context.integer("weight_prepacked", 0) != 0) context.unsupported("prepacked weights");
  const int64_t blocks = (depth + block - 1) / block;
  const int64_t per_byte = 8 / bits;
  const int64_t bytes = block / per_byte;
  const auto matrix = [&](TensorRef x, int64_t width, const char* what) {
    context.check(context.equal(product(x.dims()), Dim(columns * width)),
                  fmt::format("{} of shape {}", what, to_string(x.dims())));
    const Dims dims = {Dim(columns), Dim(width)};
    return x.dims() == dims ? x : b.reshape(x, dims);
  };
  const TensorRef packed = matrix(typed_operand(b, context, 1, {ElementType::u8}), blocks * bytes, "B");
  const TensorRef scales = matrix(real_operand(b, context, 2), blocks, "scales");
  TensorRef zeros;
  bool zeros_packed = false;
  if (context.has(3)) {
    zeros = operand(b, context, 3);
    zeros_packed = zeros.type() == ElementType::u8;
    context.check(zeros_packed || is_real_type(zeros.type()), "zero_points have a type that is not allowed");
    zeros = matrix(zeros, zeros_packed ? (blocks + per_byte - 1) / per_byte : blocks, "zero_points");
  }
  TensorRef order;
  if (context.has(4)) {
    order = typed_operand(b, context, 4, {ElementType::i32});
    context.check(order.rank() == 1 && !context.less(order.dims()[0], Dim(depth)),
                  fmt::format("g_idx of shape {}", to_string(order.dims())));
  }
  const ElementType type = compute_type(a.type());
  const TensorRef weights = b.map_grouped(
      {Dim(columns), Dim(blocks), Dim(bytes), Dim(per_byte)}, {{0}, {1, 2, 3}}, [&](const Indices& i) {
        const Scalar value = cast(type, field(packed, i[0], i[1] * bytes + i[2], i[3], bits));
        Scalar own = i[1];
        if (order.defined()) {
          const Scalar k = (i[1] * bytes + i[2]) * per_byte + i[3];
          own = cast(ElementType::i64, order.guarded({k}, k < depth, b.integer(0, ElementType::i32)));
        }
        Scalar zero = b.literal(type, static_cast<double>(int64_t{1} << (bits - 1)));
        if (zeros_packed) {
          zero = cast(type, field(zeros, i[0], floor_div(own, per_byte), floor_mod(own, per_byte), bits));
        } else if (zeros.defined()) {
          zero = cast(type, zeros({i[0], own}));
        }
        return (value - zero) * cast(type, scales({i[0], own}));
      });
  TensorRef bias;
  if (context.has(5)) bias = shaped_operand(b, context, 5, {Dim(columns)}, "the bias");
  Dims dims = a.dims();
  dims.back() = Dim(columns);
  const TensorRef sum = b.sum(dims, {Dim(depth)}, [&](const Indices& i, const Indices& r) {
    return widen(a(joined(part(i, 0, i.size() - 1), r))) * weights({i.back(), r[0]});
  });
  if (!bias.defined() && sum.type() == a.type()) return b.output(sum);
  b.output(b.map(dims, [&](const Indices& i) {
    return cast(a.type(), bias.defined() ? sum(i) + widen(bias({i.back()})) : sum(i));
  }));
}

}  // namespace

void microsoft_matmul_operators(std::vector<OperatorEntry>& table) {
  table.insert(table.end(), {{microsoft_domain, "DynamicQuantizeMatMul", 1, dynamic_quantize_matmul},
                             {microsoft_domain, "FusedMatMul", 1, fused_matmul},
                             {microsoft_domain, "TransposeMatMul", 1, fused_matmul},
                             {microsoft_domain, "MatMulIntegerToFloat", 1, matmul_integer_to_float},
                             {microsoft_domain, "MatMulNBits", 1, matmul_n_bits}});
}

}  // namespace axrun::ir
