#pragma once

#include <vector>

#include "ir/program.h"
#include "ir/tensor.h"

namespace axrun::ir {

/// The interpreter's twin for tests: every expression of every point walked as a tree, one after the other.
/// Constant dims only; no scans, opaque stages or strings. Asserts that every load is in bounds.
std::vector<Tensor> naive_evaluate(const Program& program, const std::vector<Tensor>& operands);

/// Equal types, shapes and bits; any NaN equals any other.
bool same_tensor(const Tensor& a, const Tensor& b, std::string& difference);

}  // namespace axrun::ir
