#include "ir/ops/normalization.h"

#include <algorithm>

#include "ir/ops/compute.h"

namespace axrun::ir {

Indices AxisSplit::whole(const Indices& kept_indices, const Indices& reduced_indices) const {
  Indices result(kept.size() + reduced.size());
  for (size_t k = 0; k < kept.size(); ++k) result[static_cast<size_t>(kept[k])] = kept_indices[k];
  for (size_t k = 0; k < reduced.size(); ++k) result[static_cast<size_t>(reduced[k])] = reduced_indices[k];
  return result;
}

Indices AxisSplit::kept_of(const Indices& whole_indices) const {
  Indices result;
  for (int axis : kept) result.push_back(whole_indices[static_cast<size_t>(axis)]);
  return result;
}

Indices AxisSplit::reduced_of(const Indices& whole_indices) const {
  Indices result;
  for (int axis : reduced) result.push_back(whole_indices[static_cast<size_t>(axis)]);
  return result;
}

AxisSplit split_axes(const Dims& dims, const std::vector<int>& reduced) {
  AxisSplit split;
  for (int axis = 0; axis < static_cast<int>(dims.size()); ++axis) {
    const bool is_reduced = std::find(reduced.begin(), reduced.end(), axis) != reduced.end();
    (is_reduced ? split.reduced : split.kept).push_back(axis);
    (is_reduced ? split.reduced_dims : split.kept_dims).push_back(dims[static_cast<size_t>(axis)]);
  }
  return split;
}

Scalar Moments::mean(const Indices& kept) const {
  const Scalar sum = total(kept);
  return sum / count_of(sum.builder(), sum.type(), split.reduced_dims);
}

Scalar Moments::variance(const Indices& kept) const {
  const Scalar sum = squares(kept);
  return sum / count_of(sum.builder(), sum.type(), split.reduced_dims);
}

Moments moments_of(Builder& b, const TensorRef& x, const std::vector<int>& reduced) {
  Moments m;
  m.split = split_axes(x.dims(), reduced);
  m.total = b.sum(m.split.kept_dims, m.split.reduced_dims,
                  [&](const Indices& i, const Indices& r) { return widen(x(m.split.whole(i, r))); });
  m.squares = b.sum(m.split.kept_dims, m.split.reduced_dims, [&](const Indices& i, const Indices& r) {
    const Scalar deviation = widen(x(m.split.whole(i, r))) - m.mean(i);
    return deviation * deviation;
  });
  return m;
}

void normalization_operators(std::vector<OperatorEntry>& table) {
  softmax_operators(table);
  batch_normalization_operators(table);
  layer_normalization_operators(table);
  lp_normalization_operators(table);
}

}  // namespace axrun::ir
