#pragma once

#include "ir/operator.h"

namespace axrun::ir {

/// Some dims of a tensor set aside: the axes to reduce, and the others, both in order.
struct AxisSplit {
  std::vector<int> reduced;
  std::vector<int> kept;
  Dims reduced_dims;
  Dims kept_dims;

  /// Indices of the whole tensor from those of the two parts.
  Indices whole(const Indices& kept_indices, const Indices& reduced_indices) const;
  Indices kept_of(const Indices& whole_indices) const;
  Indices reduced_of(const Indices& whole_indices) const;
};
AxisSplit split_axes(const Dims& dims, const std::vector<int>& reduced);

/// Mean and population variance over the reduced axes, in the compute type, as sums over the kept ones:
/// mean = total / count, variance = squares / count, where squares adds (x - mean)^2.
struct Moments {
  AxisSplit split;
  TensorRef total;
  TensorRef squares;
  Scalar mean(const Indices& kept) const;
  Scalar variance(const Indices& kept) const;
};
Moments moments_of(Builder& b, const TensorRef& x, const std::vector<int>& reduced);

void softmax_operators(std::vector<OperatorEntry>& table);
void batch_normalization_operators(std::vector<OperatorEntry>& table);
void layer_normalization_operators(std::vector<OperatorEntry>& table);
void lp_normalization_operators(std::vector<OperatorEntry>& table);

}  // namespace axrun::ir
