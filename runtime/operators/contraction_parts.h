#pragma once

#include <memory>

#include "runtime/plan/kernel.h"

namespace axrun::runtime {

/// A float32 sum of products of two inputs over shared axes, as one (batched) matrix product: what the
/// expression says, whatever the operator is called. Null where it is none.
std::unique_ptr<Kernel> make_general_contraction(const StepContext& context);

}  // namespace axrun::runtime
