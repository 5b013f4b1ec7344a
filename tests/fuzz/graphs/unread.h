#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace axrun::tests {

/// Whether the node that refuses is in the graph, or in a body of it, but none of these results there follows
/// from its elements: it need not run. Nor need what only branches read. The names in `refusal` lead to it,
/// each in quotes.
bool is_unread(const ir::Graph& graph, const std::vector<ir::ValueId>& results, const std::string& refusal);

}  // namespace axrun::tests
