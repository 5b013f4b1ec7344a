#pragma once

#include <set>
#include <vector>

#include "ir/program.h"

namespace axrun::search {

/// The largest float parts of an expression that load something, depend on none of the `varying` axes (of the
/// stage, then its reduce axes), and cost at least so much (scalar_cost): what can be computed once for all
/// points along these axes.
std::vector<ir::ExprId> uniform_parts(const ir::Program& program, ir::ExprId expression,
                                      const std::set<int>& varying, double least_cost);

}  // namespace axrun::search
