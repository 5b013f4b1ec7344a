#pragma once

#include <vector>

#include "search/algebra/terms.h"

namespace axrun::search::algebra {

/// The elementwise operator of ai.onnx that means the same; null where there is none.
const char* operator_of(ir::ScalarOp op);

/// An operator of ai.onnx without attributes, of opset 17, on these. no_term as Terms::make, and where an
/// argument is no_term.
TermId call(Terms& terms, const char* name, const std::vector<TermId>& children);

/// ReduceSum, ReduceMax, ... along these axes, which stay as dims of 1.
TermId reduce(Terms& terms, const char* name, TermId x, const std::vector<int64_t>& axes);

/// How many elements these sizes have together, as a tensor of one element: where it is no number, a sum of
/// ones.
TermId count_of(Terms& terms, const ir::Dims& sizes);

}  // namespace axrun::search::algebra
