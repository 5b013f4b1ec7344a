// Families whose kernels are not built yet run on the interpreter.
#include "runtime/plan/kernel.h"

namespace axrun::runtime {
#define AXRUN_PENDING(name) \
  __attribute__((weak)) void name(std::vector<FactoryEntry>&) {}
AXRUN_PENDING(contraction_factories)
AXRUN_PENDING(convolution_factories)
AXRUN_PENDING(pooling_factories)
AXRUN_PENDING(map_factories)
AXRUN_PENDING(movement_factories)
AXRUN_PENDING(reduction_factories)
AXRUN_PENDING(normalization_factories)
}  // namespace axrun::runtime
