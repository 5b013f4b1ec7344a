#pragma once

#include <memory>
#include <random>
#include <vector>

#include "ir/tensor.h"
#include "jit/kernel_code.h"
#include "tests/search/cases.h"
#include "verify/guarded_memory.h"

namespace axrun::tests {

/// The targets of this machine that code is made for, with two cores.
std::vector<jit::Target> targets_with_code();

ir::Shape shape_at(const ir::Dims& dims, const SizeValues& sizes);

/// Runs machine code with every array ending, or beginning, where nothing may be touched.
std::vector<ir::Tensor> run_guarded(const std::shared_ptr<const jit::KernelCode>& code,
                                    const SizeValues& sizes, const std::vector<ir::Tensor>& inputs,
                                    const std::vector<bool>& constant, verify::Placement placement);

/// Exact in sums of products; now and then an infinity or NaN where wanted.
ir::Tensor halves(const ir::Shape& shape, bool special, std::mt19937& random);

/// Where they lead inside of a dimension of `limit` elements, from either end, for an operand of integers.
ir::Tensor indices(ir::ElementType type, const ir::Shape& shape, int64_t limit, std::mt19937& random);

/// Expects machine code of a case's program, for every target and size, to give what the reference
/// interpreter gives of halves, and of halves with infinities and NaN among them.
void expect_computed(const Case& c);

}  // namespace axrun::tests
