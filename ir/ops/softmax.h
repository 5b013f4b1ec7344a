#pragma once

#include "ir/ops/normalization.h"

namespace axrun::ir {

/// Softmax over the reduced axes of a float value given at every index: exp(x - m) / sum exp(x - m) with m
/// the maximum, in three stages. `value` is of a compute type.
struct SoftmaxParts {
  AxisSplit split;
  TensorRef maximum;      ///< over the kept axes
  TensorRef exponential;  ///< exp(x - m), of the shape of x
  TensorRef total;        ///< over the kept axes
};
SoftmaxParts softmax_parts(Builder& b, const Dims& dims, const std::vector<int>& reduced,
                           const Builder::MapBody& value);
/// The quotient at an index of x.
Scalar softmax_at(const SoftmaxParts& parts, const Indices& indices);

}  // namespace axrun::ir
