#pragma once

#include <vector>

#include "runtime/plan/plan.h"

namespace axrun::runtime {

/// Nodes of a step, and the same nodes of another graph.
struct Twins {
  std::vector<int> nodes, others;
};

/// The steps of a plan that have twins in a rewritten graph: nodes of the same names, operators and values,
/// of which others read the same results. (A kernel of several nodes does not write what only these read:
/// where a new node reads it as well, the kernel does not serve.) New nodes have none: they may have the
/// names, and read the numbers, of other graphs' new nodes.
std::vector<Twins> twins_in(const Plan& plan, const ir::Graph& graph);

}  // namespace axrun::runtime
