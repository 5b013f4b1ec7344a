#pragma once

#include <cstdint>

#include "ir/graph.h"
#include "onnx_import/scope.h"

namespace axrun::onnx_import {

/// Replaces the nodes Gradient of ai.onnx.preview.training in a sorted graph by ordinary ones, which compute
/// the derivatives in reverse mode; the graph is left unsorted. Inputs of these nodes are what their xs and
/// zs are fed with, as the file has it; the attributes xs, zs and y hold numbers of values instead of names.
///
/// A derivative has the shape of its x. For a y of more than one element it is that of their sum. What y
/// depends on besides xs and zs is constant; values that are fed replace xs and zs for this node alone.
/// Derivatives at kinks are those of the operators' texts (0 below a threshold, else 1); where several
/// elements are the largest, Max and MaxPool give all to the first and reductions share it. Throws
/// Error(unsupported) naming each operator without a derivative, and
/// for more than `most_nodes`.
void expand_gradients(GraphDraft& draft, int64_t most_nodes);

/// Whether the node is one of those.
bool is_gradient(const ir::Node& node);

}  // namespace axrun::onnx_import
