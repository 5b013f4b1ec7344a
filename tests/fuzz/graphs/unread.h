#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace axrun::tests {

/// Whether the node that refuses is in the graph, or in a body of it, but none of these results there follows
/// from its elements: it need not run. Nor need what only branches read. The names in `refusal` lead to it,
/// each in quotes.
bool is_unread(const ir::Graph& graph, const std::vector<ir::ValueId>& results, const std::string& refusal);

/// Values that show what a node makes: its results, or those of the nodes around it that hand them on.
struct Shown {
  std::string node;  ///< its name; empty: there is none
  std::vector<ir::ValueId> results;
};
/// Changes the graph so that it shows what the node makes that refuses, be it in a body; the bodies that
/// `graph` shares with others stay as they are.
Shown show_refusing(ir::Graph& graph, const std::string& refusal);

}  // namespace axrun::tests
