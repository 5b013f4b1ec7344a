#pragma once

#include "runtime/plan/kernel.h"

namespace axrun::runtime {

/// The part of tree_factories that prepares the trees' input.
void feature_factories(std::vector<FactoryEntry>& table);

}  // namespace axrun::runtime
