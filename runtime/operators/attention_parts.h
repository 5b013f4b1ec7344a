#pragma once

#include "runtime/plan/kernel.h"

namespace axrun::runtime {

/// The part of attention_factories that normalizes sums: SkipLayerNormalization and its relatives.
void transformer_normalization_factories(std::vector<FactoryEntry>& table);

}  // namespace axrun::runtime
