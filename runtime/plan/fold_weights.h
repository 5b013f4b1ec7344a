#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/program.h"
#include "runtime/parallel.h"

namespace axrun::runtime {

/// A node that a fallback kernel has executed at load: what it computes, of what, and what came out. The
/// optimiser has it computed once more, by a verified program (runtime/optimizer/load_programs.h).
struct FoldedNode {
  ir::Node node;
  std::shared_ptr<const ir::Program> program;
  std::vector<ir::Tensor> inputs;   ///< per input of the node; undefined where it has none
  std::vector<ir::Tensor> results;  ///< per output; undefined where nobody asked for it
};

/// What is left to the run: nodes whose results are larger.
struct FoldLimits {
  size_t growth = 4;  ///< as a multiple of what they are made from
  size_t bytes = ~size_t{0};
};

/// Runs, once and for all, the nodes of a simplified graph that have only constants to work on and were too
/// large for the reference interpreter: weights stored as bytes become floats. Such nodes disappear; bodies
/// are entered. Those that make f32 of bytes or of floats of 16 bits stay beside their results, which are
/// constants. Results beyond the limits are left to the run.
/// Constants that nobody reads any more are let go.
///
/// Only nodes with a kernel are folded. Returns them, in order.
std::vector<FoldedNode> fold_weights(ir::Graph& graph, ThreadPool& pool, const FoldLimits& limits = {});

}  // namespace axrun::runtime
