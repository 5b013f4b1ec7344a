#pragma once

#include <functional>

#include "ir/operator.h"

namespace axrun::ir {

/// How the shapes of a matrix product as numpy.matmul does it fit together: a one-dimensional left side is a
/// row, a one-dimensional right side a column, and that dimension is dropped from the result.
struct MatrixProduct {
  Dims batch;  ///< the broadcast leading dims
  Dim rows;    ///< 1 for a one-dimensional left side
  Dim columns;
  Dim depth;
  bool row_vector = false;
  bool column_vector = false;

  /// batch + {rows, columns} without what a vector drops.
  Dims result() const;
};

/// Refuses scalars and shapes that do not fit.
MatrixProduct matrix_product(const OperatorContext& context, const Dims& left, const Dims& right);

/// A point of a matrix product; `row` or `column` is 0 where the side is a vector.
struct ProductPoint {
  Indices batch;
  Scalar row;
  Scalar column;
};
/// The point at the indices of MatrixProduct::result().
ProductPoint product_point(Builder& b, const MatrixProduct& shape, const Indices& indices);
Scalar load_left(const OperatorContext& context, const MatrixProduct& shape, const TensorRef& x,
                 const ProductPoint& at, const Scalar& k);
Scalar load_right(const OperatorContext& context, const MatrixProduct& shape, const TensorRef& x,
                  const ProductPoint& at, const Scalar& k);
/// A quantisation parameter of the left side (per row) or of the right side (per column): a scalar, one
/// element, a vector over that dimension, or a tensor that broadcasts with that dimension and 1 for the other
/// one.
Scalar load_row_parameter(const OperatorContext& context, const MatrixProduct& shape, const TensorRef& x,
                          const ProductPoint& at);
Scalar load_column_parameter(const OperatorContext& context, const MatrixProduct& shape, const TensorRef& x,
                             const ProductPoint& at);

/// result[...] = sum over k of term(point, k).
TensorRef matrix_sum(Builder& b, const MatrixProduct& shape,
                     const std::function<Scalar(const ProductPoint&, const Scalar& k)>& term);

void quantized_contraction_operators(std::vector<OperatorEntry>& table);

}  // namespace axrun::ir
