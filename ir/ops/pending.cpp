// Families that are not built yet have no operators; each definition in a family's own file replaces the weak
// one.
#include "ir/opaque.h"
#include "ir/operator.h"

namespace axrun::ir {
#define AXRUN_PENDING(name) \
  __attribute__((weak)) void name(std::vector<OperatorEntry>&) {}
AXRUN_PENDING(elementwise_operators)
AXRUN_PENDING(movement_operators)
AXRUN_PENDING(indexing_operators)
AXRUN_PENDING(reduction_operators)
AXRUN_PENDING(normalization_operators)
AXRUN_PENDING(contraction_operators)
AXRUN_PENDING(convolution_operators)
AXRUN_PENDING(pooling_operators)
AXRUN_PENDING(resize_operators)
AXRUN_PENDING(recurrent_operators)
AXRUN_PENDING(quantization_operators)
AXRUN_PENDING(generator_operators)
AXRUN_PENDING(machine_learning_operators)
AXRUN_PENDING(microsoft_operators)
AXRUN_PENDING(signal_operators)
AXRUN_PENDING(loss_operators)
AXRUN_PENDING(opaque_operators)
__attribute__((weak)) void opaque_functions(std::vector<OpaqueEntry>&) {}
}  // namespace axrun::ir
