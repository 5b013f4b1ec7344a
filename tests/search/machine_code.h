#pragma once

#include <memory>
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

}  // namespace axrun::tests
