#pragma once

#include "runtime/plan/kernel.h"

namespace axrun::runtime {

/// Resize and Upsample by interpolation: linear, cubic, with or without antialias; float32.
std::unique_ptr<Kernel> make_filtered_resize(const StepContext& context);

/// GridSample of planes, nearest and linear; float32.
std::unique_ptr<Kernel> make_grid_sample(const StepContext& context);

}  // namespace axrun::runtime
