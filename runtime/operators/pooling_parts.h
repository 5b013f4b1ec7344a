#pragma once

#include <optional>

#include "runtime/kernels/kernels.h"
#include "runtime/operators/window.h"

namespace axrun::runtime {

enum class PoolKind { max, average, average_with_pads, global_max, global_average };
const char* name_of(PoolKind kind);

/// Runs `kind` over the shape.
void pool(PoolKind kind, const PoolShape& shape, const float* x, float* y, ThreadPool& threads);

/// The window of an f32 pooling node over so many spatial dims; nothing where the node is another one.
std::optional<WindowForm> pooling_form(const StepContext& context, size_t least_rank, size_t most_rank);

/// Windows over the last two dims, or the only one.
PoolShape pool_shape(int64_t planes, const SlidingWindow& window);

void pooling_volume_factories(std::vector<FactoryEntry>& table);
void pooling_index_factories(std::vector<FactoryEntry>& table);

}  // namespace axrun::runtime
