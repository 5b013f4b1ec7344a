#pragma once

#include "ir/graph.h"
#include "runtime/parallel.h"

namespace axrun::runtime {

/// Runs, once and for all, the nodes of a simplified graph that have only constants to work on and were too
/// large for the reference interpreter: weights stored as bytes become floats. Such nodes disappear; bodies
/// are entered. Those that make floats of bytes stay beside their results, which are constants. Results of more than four times the size of what they are made from are left to the run.
///
/// Only nodes with a kernel are folded. Returns their number.
int fold_weights(ir::Graph& graph, ThreadPool& pool);

}  // namespace axrun::runtime
