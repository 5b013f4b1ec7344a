#pragma once

#include "search/algebra/saturation.h"

namespace axrun::search::algebra {

/// Whether moving elements is taken to cost what it moves, or to be part of the kernels that read or make
/// them.
enum class Movement : uint8_t { costs, is_free };

/// What operations cost where the kernels of a plan execute them: a Reshape is no step, what works element by
/// element becomes part of the kernels beside it. For known sizes. A guess that orders programs; which one is
/// faster is measured.
TermCost kernel_cost(Movement movement);

}  // namespace axrun::search::algebra
