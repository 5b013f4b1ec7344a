#pragma once

#include "ir/graph.h"

namespace axrun::onnx_import {

/// Puts the nodes of a graph into topological order, moving as few as it can; bodies count as reads of what
/// they capture. Throws Error(model) naming the nodes of a cycle.
void sort_nodes(ir::Graph& graph);

}  // namespace axrun::onnx_import
