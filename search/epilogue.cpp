#include "search/epilogue.h"

#include <algorithm>

#include "search/scalar_cost.h"
#include "search/stage_values.h"

namespace axrun::search {

using ir::Dim;
using ir::Dims;
using ir::Expr;
using ir::ExprId;

MatchedEpilogue match_dimensions(const ir::Program& program, const ir::Stage& reduction,
                                 const ir::Stage& map) {
  const Dims& dims = program.tensors[static_cast<size_t>(reduction.results[0])].dims;
  MatchedEpilogue result;
  const auto no = [&](const std::string& reason) {
    result.reason = reason;
    return result;
  };
  const Dims point = symbolic_point(map);
  result.axes.assign(map.axes.size(), -1);
  bool seen = false;
  for (const ExprId load : loads_of(program, map.body[0])) {
    const Expr& read = program.exprs[static_cast<size_t>(load)];
    if (static_cast<ir::TensorId>(read.integer) != reduction.results[0]) continue;
    if (read.args[0] != ir::none) return no("the map reads the sum under a guard");
    std::vector<int> axes(map.axes.size(), -1);
    for (size_t d = 0; d < read.indices.size(); ++d) {
      if (reduction.groups[d].empty()) continue;
      const Dim& extent = dims[d];
      const auto index = index_at(program, read.indices[d], point);
      if (index && *index == Dim(0) && extent == Dim(1)) continue;
      const auto own =
          std::find_if(point.begin(), point.end(), [&](const Dim& a) { return index && *index == a; });
      if (own == point.end()) return no("the map does not read the sum element by element");
      const auto position = static_cast<size_t>(own - point.begin());
      if (axes[position] != -1) return no("the map reads a diagonal of the sum");
      if (map.axes[position].extent != extent) return no("the map reads a part of the sum");
      axes[position] = static_cast<int>(d);
    }
    if (seen && axes != result.axes) return no("the map reads the sum in two ways");
    result.axes = axes;
    seen = true;
  }
  if (!seen) return no("the map does not read the sum");
  for (size_t k = 0; k < map.axes.size(); ++k) {
    if (result.axes[k] == -1 && map.axes[k].extent != Dim(1)) return no("the map repeats the sum");
  }
  return result;
}

MatchedEpilogue match_epilogue(const ir::Program& program, const ir::Stage& reduction, const ir::Stage& map) {
  for (const std::vector<int>& group : reduction.groups) {
    if (group.size() > 1) return {{}, "the sum's result is reshaped"};
  }
  MatchedEpilogue matched = match_dimensions(program, reduction, map);
  for (int& axis : matched.axes) {
    if (axis != -1) axis = reduction.groups[static_cast<size_t>(axis)][0];
  }
  return matched;
}

bool is_long(const ir::Program& program, const ir::Stage& map) {
  constexpr double least = 20;
  return scalar_cost(program, map.body[0]) >= least;
}

std::vector<int> axes_in_memory_order(const ir::Stage& reduction, const ir::Stage* epilogue,
                                      const std::vector<int>& epilogue_axes) {
  std::vector<int> order;
  const size_t count = epilogue != nullptr ? epilogue_axes.size() : reduction.axes.size();
  for (size_t k = 0; k < count; ++k) {
    const int axis = epilogue != nullptr ? epilogue_axes[k] : static_cast<int>(k);
    if (axis != -1 && reduction.axes[static_cast<size_t>(axis)].extent != Dim(1)) order.push_back(axis);
  }
  return order;
}

}  // namespace axrun::search
