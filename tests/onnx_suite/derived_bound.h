#pragma once

#include <string>
#include <vector>

#include "ir/tensor.h"
#include "runtime/value.h"

namespace axrun::tests {

/// Whether both answers of a case are right where its numbers are too coarse for the suite's tolerance.
struct DerivedBound {
  struct Use {
    double bound = 0;  ///< the largest
    double share = 0;  ///< the largest that an answer used of its own
  };
  std::string why_none;  ///< not empty: no bound can be derived
  std::string outside;   ///< not empty: which answer is not within its bound, and where
  Use ours, stored;
};

/// A running error analysis of the case's operator at the case's own inputs: verify/error_bound.h over its
/// tensor expression, sums in any order. For the stored answer every operation is rounded to the type of the
/// result, as the suite computed it; for ours as the definition has it, rounded to that type at the end. A
/// case whose model is the operator's body (`_expanded`) rounds after each node: there both are judged by the
/// first of these, of the operator itself, with which it shares inputs and stored answers.
DerivedBound derived_bound(const std::string& folder, const std::vector<runtime::RuntimeValue>& inputs,
                           size_t output, const ir::Tensor& got, const ir::Tensor& want);

}  // namespace axrun::tests
