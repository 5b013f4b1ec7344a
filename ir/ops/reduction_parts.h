#pragma once

#include <vector>

#include "ir/operator.h"

namespace axrun::ir {

// The parts of the reduction family.
void reduce_operators(std::vector<OperatorEntry>& table);
void arg_operators(std::vector<OperatorEntry>& table);
void recurrence_operators(std::vector<OperatorEntry>& table);
void einsum_operators(std::vector<OperatorEntry>& table);

/// Which dims of a shape are reduced, and what is left.
struct ReducedDims {
  std::vector<bool> reduced;
  bool keep = true;  ///< reduced dims stay as 1
  Dims result;
  Dims inner;  ///< the reduced dims, in order

  ReducedDims(const Dims& dims, std::vector<bool> which, bool keep_dims);
  /// The element of the input at a point of the result and one of `inner`.
  Indices at(const Indices& i, const Indices& k) const;
};

}  // namespace axrun::ir
