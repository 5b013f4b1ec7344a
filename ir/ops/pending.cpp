// Families that are not built yet have no operators; each definition in a family's own file replaces the weak
// one. Only names without such a file may stand here: a linker that has this object does not look for another one.
#include "ir/operator.h"

namespace axrun::ir {
#define AXRUN_PENDING(name) \
  __attribute__((weak)) void name(std::vector<OperatorEntry>&) {}
AXRUN_PENDING(microsoft_operators)
AXRUN_PENDING(signal_operators)
AXRUN_PENDING(loss_operators)
}  // namespace axrun::ir
