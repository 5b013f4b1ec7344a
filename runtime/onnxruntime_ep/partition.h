#pragma once

#include <cstddef>
#include <vector>

namespace axrun::ort {

/// A node as the partition sees it; values are numbers.
struct PartitionNode {
  bool supported = false;
  std::vector<int> reads, writes;
};

/// Cuts the supported nodes into as few groups as a walk in topological order can: no path between two
/// members of a group leaves it through an unsupported node, and the groups together have no cycle. `nodes`
/// come in topological order; a group lists its members in that order.
///
/// Every node has a level that grows along edges, and by one where an edge leads from an unsupported node to
/// a supported one; a group is the supported nodes of one level. A node that only later groups read moves
/// there.
std::vector<std::vector<std::size_t>> convex_groups(const std::vector<PartitionNode>& nodes);

}  // namespace axrun::ort
