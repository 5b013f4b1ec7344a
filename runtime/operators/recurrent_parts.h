#pragma once

#include "runtime/plan/kernel.h"

namespace axrun::runtime {

/// The part of recurrent_factories whose weights are bytes.
void quantized_recurrent_factories(std::vector<FactoryEntry>& table);

}  // namespace axrun::runtime
