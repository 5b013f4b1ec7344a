#pragma once

#include <memory>

#include "runtime/plan/kernel.h"

namespace axrun::runtime {

/// A float32 sum of products of two inputs over shared axes, as one (batched) matrix product: what the
/// expression says, whatever the operator is called. Null where it is none.
std::unique_ptr<Kernel> make_general_contraction(const StepContext& context);

/// A group of axrun.state::Prefix, what else moves its result about, and a MatMul of which that is B, with
/// its epilogue: reads B where it lies in the buffer. Null where the group is none.
std::unique_ptr<Kernel> make_product_in_buffer(const StepContext& whole);

}  // namespace axrun::runtime
