#pragma once

#include "ir/graph.h"
#include "ir/infer.h"

namespace axrun::ir {

struct SimplifyReport {
  int folded = 0;            ///< nodes whose results became constants, by the reference interpreter
  int64_t folded_bytes = 0;  ///< of these results
  int inlined = 0;           ///< If nodes replaced by the branch their constant condition selects
  int forwarded = 0;         ///< nodes that only pass a value on
  int captured = 0;          ///< values that Loops carried unchanged (carried_unchanged.h)
  int dead = 0;              ///< nodes nobody needs
};

/// Whether the node makes f32 of a constant tensor of bytes or of floats of 16 bits, element by element:
/// weights. Such nodes stay in the graph although their results are constants: what reads these may rather
/// read the narrower ones.
bool widens_weights(const Node& node, const Inference& inference);

/// Removes what exporters leave behind, in place and until nothing changes: constant subgraphs (shape
/// arithmetic included, as far as named sizes allow), conditionals with a known condition, nodes that only
/// forward their input, what loops carry unchanged, and dead code; bodies included. Types and dims of the
/// values that stay are filled in where they can be inferred.
///
/// Throws Error(model) where operators cannot agree on a shape. definitions, if given, are asked for
/// programs.
SimplifyReport simplify(Graph& graph, Definitions* definitions = nullptr);

/// A Loop or Scan that makes no trip gives what its body's outputs are known to be: has the bodies of `graph`
/// know as much as those of `simplified`, which was made of it.
void take_loop_results(Graph& graph, const Graph& simplified);

}  // namespace axrun::ir
