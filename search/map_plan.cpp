#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "search/axis_cuts.h"
#include "search/map.h"
#include "search/scalar_cost.h"
#include "search/work.h"

namespace axrun::search {

using ir::Dim;

namespace {

/// Whether neighbours along the last axis are read far from each other.
bool reads_across_rows(const PieceContext& context, const ir::Stage& stage) {
  const int last = static_cast<int>(stage.axes.size()) - 1;
  for (const ir::ExprId load : loads_of(context.program, stage.body[0])) {
    const ir::Expr& read = context.program.exprs[static_cast<size_t>(load)];
    for (size_t d = 0; d + 1 < read.indices.size(); ++d) {
      if (axes_of(context.program, read.indices[d]).count(last) != 0) return true;
    }
  }
  return false;
}

/// Whether the parts of an axis of lanes are worth it: with hardly more vectors than the whole axis has.
/// Parts that are transposed have whole vectors.
bool are_long_enough(const PieceContext& context, const std::vector<Dim>& cuts, const Dim& extent,
                     bool transposed) {
  const int64_t lanes = context.target.lanes(4);
  const auto vectors = [&](const Dim& part) { return (context.facts.typical(part) + lanes - 1) / lanes; };
  int64_t count = 0;
  Dim low = 0;
  for (size_t k = 0; k <= cuts.size(); ++k) {
    const Dim high = k < cuts.size() ? cuts[k] : extent;
    if (transposed && context.facts.typical(high - low) < lanes) return false;
    count += vectors(high - low);
    low = high;
  }
  return 2 * count <= 3 * vectors(extent);
}

/// Few parts, and long ones of an axis of lanes.
std::vector<std::vector<Dim>> plan_cuts(const PieceContext& context, const ir::Stage& stage, size_t lane_axis,
                                        int across) {
  const std::vector<AxisCondition> conditions = axis_conditions(context.program, stage);
  std::vector<std::vector<Dim>> cuts(stage.axes.size());
  constexpr size_t most_parts = 32;
  size_t parts = 1;
  for (size_t axis = 0; axis < stage.axes.size(); ++axis) {
    const Dim& extent = stage.axes[axis].extent;
    std::vector<Dim> found = cuts_of(conditions, static_cast<int>(axis), extent);
    const bool transposed = across != ir::none;
    const bool has_lanes = axis == lane_axis || static_cast<int>(axis) == across;
    if (has_lanes && !are_long_enough(context, found, extent, transposed)) found.clear();
    if (parts * (found.size() + 1) > most_parts) continue;
    parts *= found.size() + 1;
    cuts[axis] = std::move(found);
  }
  return cuts;
}

/// Tiles whose rows of the result stay in the nearest cache until the next tiles continue them: lines as far
/// apart as those rows share the places that their addresses leave them. Neighbouring tiles also share lines
/// of operands whose rows begin anywhere.
int64_t tile_group(const PieceContext& context, const ir::Stage& stage, int across, int64_t lanes) {
  constexpr int64_t most = 4, page = 4096, most_pages = 64, line = 64;
  Dim row(4);  // bytes from one row to the next
  for (size_t axis = static_cast<size_t>(across) + 1; axis < stage.axes.size(); ++axis)
    row = row * stage.axes[axis].extent;
  if (!row.is_constant() || context.target.caches.empty()) return 1;
  // Addresses within a page tell places apart; each has room for several lines, some of them for operands.
  const int64_t apart = std::gcd(row.value(), page);
  const int64_t places = page / std::max(apart, line);
  const int64_t rows = places * (context.target.caches[0].bytes / page) * 2 / 3;
  return std::clamp<int64_t>(std::min(rows, page * most_pages / row.value()) / lanes, 1, most);
}

/// By how many elements what is read moves with an axis; nothing where an index is none of coordinates.
std::optional<Dim> step_along(const PieceContext& context, const ir::Expr& read, const ir::Stage& stage,
                              size_t axis) {
  const ir::Dims here = symbolic_point(stage);
  ir::Dims next = here;
  next[axis] = next[axis] + Dim(1);
  const ir::Dims& extents = context.program.tensors[static_cast<size_t>(read.integer)].dims;
  Dim step = 0;
  for (size_t d = 0; d < read.indices.size(); ++d) {
    const auto from = index_at(context.program, read.indices[d], here);
    const auto to = index_at(context.program, read.indices[d], next);
    if (!from || !to) return std::nullopt;
    step = step * extents[d] + (*to - *from);
  }
  return step;
}

bool mentions_axis(const Dim& dim, const ir::Stage& stage) {
  std::vector<std::string> names;
  dim.collect_symbols(names);
  const ir::Dims point = symbolic_point(stage);
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return std::find(point.begin(), point.end(), Dim::symbol(name)) != point.end();
  });
}

/// The last axis, unless it is so short that vectors along the one before it are better: operands are
/// contiguous along that, and results that are a few elements apart are stored well enough. Or unless lanes
/// cannot lie along it, because operands are read at places that no step leads to.
size_t axis_of_lanes(const PieceContext& context, const ir::Stage& stage) {
  const size_t last = stage.axes.size() - 1;
  const std::optional<int64_t> extent = stage.axes[last].extent.constant();
  const auto type = context.program.exprs[static_cast<size_t>(stage.body[0])].type;
  if (last == 0 || !extent || type != ir::ElementType::f32) return last;
  bool steady = true, moves = false;
  int64_t longest = 0;  // step along the axis before
  for (const ir::ExprId load : loads_of(context.program, stage.body[0])) {
    const ir::Expr& read = context.program.exprs[static_cast<size_t>(load)];
    const auto along = step_along(context, read, stage, last);
    const auto before = step_along(context, read, stage, last - 1);
    if (!along || !before || !before->is_constant() || before->value() < 0) return last;
    steady = steady && !mentions_axis(*along, stage);
    moves = moves || before->value() > 0;
    longest = std::max(longest, before->value());
  }
  constexpr int64_t few = 4, most_written_out = 8, times = 2, most_apart = 4;
  if (!moves) return last;
  if (!steady) return *extent <= most_written_out && longest <= most_apart ? last - 1 : last;
  const bool is_short =
      *extent <= few && longest <= 1 && context.facts.typical(stage.axes[last - 1].extent) >= times * *extent;
  return is_short ? last - 1 : last;
}

/// A whole axis of lanes, not very long, where operands are read at quotients of it: which elements the lanes
/// of a vector read is known then.
bool takes_whole_axis(const PieceContext& context, const ir::Stage& stage, size_t axis) {
  constexpr int64_t longest = 512;
  const std::optional<int64_t> extent = stage.axes[axis].extent.constant();
  if (!extent || *extent > longest) return false;
  const std::vector<ir::ExprId> loads = loads_of(context.program, stage.body[0]);
  return std::any_of(loads.begin(), loads.end(), [&](ir::ExprId load) {
    const auto step = step_along(context, context.program.exprs[static_cast<size_t>(load)], stage, axis);
    return step && mentions_axis(*step, stage);
  });
}

}  // namespace

MapPlan plan_map(const PieceContext& context, const ir::Stage& stage) {
  MapPlan plan;
  if (stage.axes.empty()) return plan;
  const auto typical = [&](size_t axis) { return context.facts.typical(stage.axes[axis].extent); };
  const size_t last = stage.axes.size() - 1;
  const int64_t registers = context.target.lanes(4);
  plan.transposition = find_transposition(context.program, stage, static_cast<int>(last));
  const int across = plan.transposition.across;
  plan.lane_axis = across == ir::none ? axis_of_lanes(context, stage) : last;
  const int64_t vectors = (typical(plan.lane_axis) + registers - 1) / registers;
  const int64_t chains = across != ir::none                                 ? 1
                         : takes_whole_axis(context, stage, plan.lane_axis) ? vectors
                                                                            : 4;
  plan.lanes = registers * std::clamp<int64_t>(vectors, 1, std::max<int64_t>(chains, 1));

  if (across != ir::none) plan.tile_group = tile_group(context, stage, across, plan.lanes);
  plan.tiles_outside = across == ir::none && reads_across_rows(context, stage);
  plan.cuts = plan_cuts(context, stage, plan.lane_axis, across);

  double elements = 1;
  for (size_t axis = 0; axis <= last; ++axis) elements *= static_cast<double>(typical(axis));
  constexpr double overhead = 2;  // loads and stores, in operations
  const double work = overhead + scalar_cost(context.program, stage.body[0]);
  if (!is_worth_spreading(2 * work * elements, context.target, bytes_moved(context, {&stage}))) return plan;
  double best = 0;
  for (size_t axis = 0; axis <= last; ++axis) {
    const int64_t step = axis == plan.lane_axis             ? plan.lanes
                         : static_cast<int>(axis) == across ? plan.lanes * plan.tile_group
                                                            : 1;
    const double used = balance_of_axis(context.facts, stage.axes[axis].extent, step, context.target.cores);
    if (typical(axis) <= step || used < best + 0.1) continue;
    best = used;
    plan.parallel_axis = static_cast<int>(axis);
  }
  return plan;
}

}  // namespace axrun::search
