#pragma once

#include <vector>

#include "ir/builder.h"
#include "ir/tensor.h"

namespace axrun::ir {

/// A tensor of the program whose elements are known when it is built: the numbers of a list attribute.
TensorRef constant_tensor(Builder& b, const Tensor& value);

/// The numbers of a list attribute, read at an index. Equal numbers are one literal and a short list is a
/// chain of selections, so that only long lists need a tensor.
class ConstantTable {
 public:
  /// `values` rounded to a float type. Must not be empty.
  ConstantTable(Builder& b, ElementType type, const std::vector<double>& values);
  /// Exact integers, wrapped to an integer type. Must not be empty.
  ConstantTable(Builder& b, ElementType type, const std::vector<int64_t>& values);

  /// The element at `index`, which must be in 0..size-1.
  Scalar at(const Scalar& index) const;

 private:
  void choose(Builder& b, const Tensor& values);
  std::vector<Scalar> literals_;  ///< one for equal numbers, all of a short list, none of a long one
  TensorRef tensor_;
};

}  // namespace axrun::ir
