#pragma once

#include <vector>

#include "ir/operator.h"

namespace axrun::ir::test {

/// Throws Error(internal) unless the node's definition tells all that it looks at: under another name, and
/// without the operands' values, where it says that it needs neither, the program has the same text.
void require_told(const Node& node, const std::vector<OperandInfo>& operands);

}  // namespace axrun::ir::test
