// placeholder
#include "runtime/operators/quantized_parts.h"
namespace axrun::runtime {
void quantized_elementwise_factories(std::vector<FactoryEntry>&) {}
}  // namespace axrun::runtime
