#include "search/uniform_parts.h"

#include <algorithm>

#include "ir/types.h"
#include "search/scalar_cost.h"
#include "search/stage_values.h"

namespace axrun::search {

using ir::ExprId;

std::vector<ExprId> uniform_parts(const ir::Program& program, ExprId expression, const std::set<int>& varying,
                                  double least_cost) {
  std::vector<ExprId> found;
  std::vector<ExprId> open = {expression};
  std::set<ExprId> seen;
  while (!open.empty()) {
    const ExprId id = open.back();
    open.pop_back();
    if (!seen.insert(id).second) continue;
    const ir::Expr& expr = program.exprs[static_cast<size_t>(id)];
    const std::set<int> axes = axes_of(program, id);
    const bool uniform =
        std::none_of(varying.begin(), varying.end(), [&](int axis) { return axes.count(axis) != 0; });
    if (uniform && is_float(expr.type) && scalar_cost(program, id) >= least_cost &&
        !loads_of(program, id).empty()) {
      found.push_back(id);
      continue;
    }
    for (const ExprId argument : expr.args) {
      if (argument != ir::none) open.push_back(argument);
    }
  }
  return found;
}

}  // namespace axrun::search
