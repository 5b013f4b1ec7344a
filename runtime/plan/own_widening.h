#pragma once

#include "ir/graph.h"

namespace axrun::runtime {

/// Gives every node that reads floats which a DequantizeLinear makes of bytes that vary a DequantizeLinear of
/// its own: kernels then read the bytes, and nobody has to keep the floats in memory. Other readers (outputs
/// of the graph, bodies) keep the first one.
void give_readers_own_widening(ir::Graph& graph);

}  // namespace axrun::runtime
