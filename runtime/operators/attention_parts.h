#pragma once

#include "runtime/plan/kernel.h"

namespace axrun::runtime {

// The parts of attention_factories, one file each.
void onnx_attention_factories(std::vector<FactoryEntry>& table);
void group_query_factories(std::vector<FactoryEntry>& table);
void rotary_factories(std::vector<FactoryEntry>& table);
/// Normalizes sums: SkipLayerNormalization and its relatives.
void transformer_normalization_factories(std::vector<FactoryEntry>& table);

}  // namespace axrun::runtime
