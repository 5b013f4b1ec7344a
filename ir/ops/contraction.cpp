#include "ir/ops/contraction.h"

#include <fmt/format.h>

#include <cmath>

#include "ir/ops/compute.h"
#include "ir/ops/heads.h"

namespace axrun::ir {

Dims MatrixProduct::result() const {
  Dims dims = batch;
  if (!row_vector) dims.push_back(rows);
  if (!column_vector) dims.push_back(columns);
  return dims;
}

MatrixProduct matrix_product(const OperatorContext& context, const Dims& left, const Dims& right) {
  context.check(!left.empty() && !right.empty(), "a scalar has no matrix product");
  MatrixProduct shape;
  shape.row_vector = left.size() == 1;
  shape.column_vector = right.size() == 1;
  shape.rows = shape.row_vector ? Dim(1) : left[left.size() - 2];
  shape.columns = shape.column_vector ? Dim(1) : right.back();
  shape.depth = left.back();
  const Dim& other = shape.column_vector ? right.back() : right[right.size() - 2];
  if (!context.equal(shape.depth, other)) {
    context.fail(fmt::format("the inner dimensions of {} and {} differ", to_string(left), to_string(right)));
  }
  shape.batch = context.broadcast({shape.row_vector ? Dims() : part(left, 0, left.size() - 2),
                                   shape.column_vector ? Dims() : part(right, 0, right.size() - 2)});
  return shape;
}

ProductPoint product_point(Builder& b, const MatrixProduct& shape, const Indices& indices) {
  ProductPoint at;
  size_t d = shape.batch.size();
  at.batch = part(indices, 0, d);
  at.row = shape.row_vector ? b.integer(0) : indices[d++];
  at.column = shape.column_vector ? b.integer(0) : indices[d];
  return at;
}

Scalar load_left(const OperatorContext& context, const MatrixProduct& shape, const TensorRef& x,
                 const ProductPoint& at, const Scalar& k) {
  if (shape.row_vector) return x({k});
  return broadcast_load(context, x, joined(at.batch, {at.row, k}),
                        joined(shape.batch, {shape.rows, shape.depth}));
}

Scalar load_right(const OperatorContext& context, const MatrixProduct& shape, const TensorRef& x,
                  const ProductPoint& at, const Scalar& k) {
  if (shape.column_vector) return x({k});
  return broadcast_load(context, x, joined(at.batch, {k, at.column}),
                        joined(shape.batch, {shape.depth, shape.columns}));
}

namespace {

/// A parameter whose last two dims are `matrix`, one of which is 1, and which is read at `index` where it is
/// a vector over the dimension `along`.
Scalar load_parameter(const OperatorContext& context, const MatrixProduct& shape, const TensorRef& x,
                      const ProductPoint& at, const Indices& element, const Dims& matrix, const Dim& along,
                      const Scalar& index) {
  Builder& b = index.builder();
  if (x.rank() == 0) return x({});
  if (x.rank() == 1) {
    if (context.is_one(x.dims()[0])) return x({b.integer(0)});
    check_dims(context, x, {along}, "a scale or zero point");
    return x({index});
  }
  const Dims whole = joined(shape.batch, matrix);
  if (!context.broadcasts_to(x.dims(), whole)) {
    context.fail(fmt::format("a scale or zero point of shape {} does not fit {}", to_string(x.dims()),
                             to_string(whole)));
  }
  return broadcast_load(context, x, joined(at.batch, element), whole);
}

}  // namespace

Scalar load_row_parameter(const OperatorContext& context, const MatrixProduct& shape, const TensorRef& x,
                          const ProductPoint& at) {
  return load_parameter(context, shape, x, at, {at.row, at.row.builder().integer(0)}, {shape.rows, Dim(1)},
                        shape.rows, at.row);
}

Scalar load_column_parameter(const OperatorContext& context, const MatrixProduct& shape, const TensorRef& x,
                             const ProductPoint& at) {
  return load_parameter(context, shape, x, at, {at.column.builder().integer(0), at.column},
                        {Dim(1), shape.columns}, shape.columns, at.column);
}

TensorRef matrix_sum(Builder& b, const MatrixProduct& shape,
                     const std::function<Scalar(const ProductPoint&, const Scalar& k)>& term) {
  return b.sum(shape.result(), {shape.depth},
               [&](const Indices& i, const Indices& k) { return term(product_point(b, shape, i), k[0]); });
}

namespace {

void check_number(const OperatorContext& context, int k) {
  const ElementType type = context.type(k);
  const bool wide_integer = type == ElementType::i32 || type == ElementType::u32 ||
                            type == ElementType::i64 || type == ElementType::u64;
  if (!is_real_type(type) && !wide_integer) {
    context.fail(fmt::format("input {} may not be of type {}", k, name_of(type)));
  }
  context.check(type == context.type(0), "the inputs must have one type");
}

/// Sums of narrow floats are kept as float32, and rounded once they are finished.
TensorRef narrowed(Builder& b, ElementType type, const TensorRef& sum) {
  if (compute_type(type) == type) return sum;
  return b.map(sum.dims(), [&](const Indices& i) { return cast(type, sum(i)); });
}

/// Y = A B, numpy.matmul.
void define_matmul(const OperatorContext& context, Builder& b) {
  check_number(context, 0);
  check_number(context, 1);
  const TensorRef left = operand(b, context, 0);
  const TensorRef right = operand(b, context, 1);
  const MatrixProduct shape = matrix_product(context, left.dims(), right.dims());
  const TensorRef sum = matrix_sum(b, shape, [&](const ProductPoint& at, const Scalar& k) {
    return widen(load_left(context, shape, left, at, k)) * widen(load_right(context, shape, right, at, k));
  });
  b.output(narrowed(b, left.type(), sum));
}

/// value * factor; an integer value is multiplied over the reals and truncated unless the factor is 1.
Scalar scaled(const Scalar& value, double factor) {
  if (factor == 1) return value;
  if (is_float(value.type())) return value * factor;
  return cast(value.type(), cast(ElementType::f64, value) * factor);
}

/// Gemm before version 7: C has the shape of the result unless `broadcast` is set; then its dims are aligned
/// with the result's last ones.
void check_addend(const OperatorContext& context, const TensorRef& addend, const Dims& result) {
  const bool exact = context.version() < 7 && context.integer("broadcast", 0) == 0;
  if (exact) return check_dims(context, addend, result, "C");
  if (!context.broadcasts_to(addend.dims(), result)) {
    context.fail(
        fmt::format("C of shape {} cannot be broadcast to {}", to_string(addend.dims()), to_string(result)));
  }
}

/// Y = alpha A' B' + beta C.
void define_gemm(const OperatorContext& context, Builder& b) {
  check_number(context, 0);
  check_number(context, 1);
  const TensorRef left = operand(b, context, 0);
  const TensorRef right = operand(b, context, 1);
  context.check(left.rank() == 2 && right.rank() == 2, "A and B must be matrices");
  const bool left_transposed = context.integer("transA", 0) != 0;
  const bool right_transposed = context.integer("transB", 0) != 0;
  const double alpha = context.real("alpha", 1);
  const double beta = context.real("beta", 1);
  const Dim rows = left.dims()[left_transposed ? 1 : 0];
  const Dim depth = left.dims()[left_transposed ? 0 : 1];
  const Dim columns = right.dims()[right_transposed ? 0 : 1];
  if (!context.equal(depth, right.dims()[right_transposed ? 1 : 0])) {
    context.fail(fmt::format("the inner dimensions of {} and {} differ", to_string(left.dims()),
                             to_string(right.dims())));
  }
  const bool has_addend = context.has(2);
  context.check(has_addend || context.version() >= 11, "C is missing");
  const bool bare = !has_addend && alpha == 1;
  const auto load = [&](const TensorRef& x, bool transposed, const Scalar& i, const Scalar& j) {
    return widen(transposed ? x({j, i}) : x({i, j}));
  };
  const Dims result = {rows, columns};
  const TensorRef product = b.sum(result, {depth}, [&](const Indices& i, const Indices& k) {
    return load(left, left_transposed, i[0], k[0]) * load(right, right_transposed, k[0], i[1]);
  });
  if (bare) return b.output(narrowed(b, left.type(), product));
  TensorRef addend;
  if (has_addend) {
    check_number(context, 2);
    addend = operand(b, context, 2);
    check_addend(context, addend, result);
  }
  b.output(b.map(result, [&](const Indices& i) {
    Scalar y = scaled(product(i), alpha);
    if (has_addend) y = y + scaled(widen(broadcast_load(context, addend, i, result)), beta);
    return cast(left.type(), y);
  }));
}

}  // namespace

void contraction_operators(std::vector<OperatorEntry>& table) {
  table.insert(table.end(), {
                                {"", "MatMul", 1, define_matmul},
                                {"", "Gemm", 1, define_gemm},
                            });
  quantized_contraction_operators(table);
  attention_operators(table);
}

}  // namespace axrun::ir
