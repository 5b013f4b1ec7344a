#include "search/windows_plan.h"

#include <algorithm>

#include "search/scalar_cost.h"
#include "search/uniform_parts.h"
#include "search/work.h"

namespace axrun::search {

using ir::Dim;

namespace {

/// Tiles at the ends of an axis that are written out.
constexpr int64_t most_tiles_apart = 4;

/// Tiles along an axis: those at its ends whose guards leave taps out stand apart, and so does a last one
/// that is cut short.
std::vector<Tiles> tiles_of(const Dim& extent, int64_t size, const std::optional<Interior>& interior) {
  const auto length = extent.constant();
  if (!length || !interior)
    return {{0, ceil_div(extent, Dim(size)), size, !length || *length % size != 0, false}};
  const int64_t whole = *length / size;
  const int64_t first = std::min(whole, (interior->first + size - 1) / size);
  const int64_t end = std::max(first, std::min(whole, interior->end / size));
  if (first > most_tiles_apart || whole - end > most_tiles_apart)
    return {{0, ceil_div(extent, Dim(size)), size, *length % size != 0, false}};
  std::vector<Tiles> tiles;
  const auto add = [&](int64_t from, int64_t to, bool apart) {
    if (from < to) tiles.push_back({from * size, to - from, size, false, apart});
  };
  add(0, first, true);
  add(first, end, false);
  add(end, whole, true);
  if (*length % size != 0) tiles.push_back({whole * size, 1, *length % size, false, true});
  return tiles;
}

/// Fewer steps, but what has been reduced once is written and read again.
bool is_worth_two_passes(const WindowShape& shape, const Strips& strips) {
  constexpr double written_and_read = 3;
  constexpr int64_t longest = 1024;
  const auto columns = static_cast<double>(shape.columns), length = static_cast<double>(strips.length);
  const double two = length * (static_cast<double>(shape.row_taps) + written_and_read) +
                     columns * static_cast<double>(shape.column_taps);
  return strips.length <= longest && two < columns * static_cast<double>(shape.taps);
}

/// As many chains as keep the units busy; the second pass reads nothing twice.
WindowTile tile_of_strips(const WindowShape& shape, const jit::Target& target) {
  constexpr int64_t most_rows = 8, most_vectors = 2;
  const int64_t lanes = target.lanes(4);
  WindowTile tile;
  tile.rows = std::min(shape.rows, most_rows);
  tile.columns = lanes * std::min(most_vectors, (shape.columns + lanes - 1) / lanes);
  const auto vectors = static_cast<double>((shape.columns + lanes - 1) / lanes);
  tile.cycles = static_cast<double>(shape.rows) * vectors *
                static_cast<double>(shape.row_taps * shape.step + shape.column_taps);
  return tile;
}

/// Where what a few lines of all channels read is more than the nearest cache keeps. Memory is better read in
/// order, all channels at a time.
int64_t column_block(const WindowShape& shape, const WindowTile& tile, double bytes,
                     const jit::Target& target) {
  const int64_t second = second_cache(target);
  if (bytes > static_cast<double>(second)) return 0;
  const int64_t room = (target.caches.empty() ? int64_t{32} << 10 : target.caches[0].bytes) / 2;
  const int64_t lines = shape.taps / shape.row_taps;
  const int64_t column_bytes = 4 * lines * shape.rows * shape.row_step;
  if (column_bytes * shape.columns <= room) return 0;
  const int64_t whole = shape.columns / tile.columns;
  const int64_t most = std::max<int64_t>(1, room / (column_bytes * tile.columns));
  return most >= whole ? 0 : most;
}

}  // namespace

WindowsPlan plan_windows(const PieceContext& context, const WindowsForm& form) {
  const ir::Stage& stage = *form.reduction;
  const auto typical = [&](int axis) {
    return axis == ir::none ? int64_t{1} : context.facts.typical(part_of(context, stage, axis).rest);
  };
  const auto taps_of = [&](int number) {
    return stage.reduce_axes[static_cast<size_t>(number)].extent.value();
  };

  WindowsPlan plan;
  WindowShape shape;
  shape.rows = typical(form.row);
  shape.columns = typical(form.column);
  for (const int number : form.row_taps) shape.row_taps *= taps_of(number);
  for (const int number : form.column_taps) shape.column_taps *= taps_of(number);
  shape.taps = shape.row_taps * shape.column_taps;
  for (const int number : form.other_taps) shape.taps *= taps_of(number);
  shape.row_step = form.row_step;
  shape.step = form.step;
  shape.factors =
      static_cast<int64_t>(uniform_parts(context.program, stage.body[0], {form.row, form.column}, 0).size());
  if (form.channels_last)
    shape.lane_factors =
        static_cast<int64_t>(uniform_parts(context.program, stage.body[0], {form.row}, 0).size());

  // From the innermost loop on, as many taps as code may hold.
  // Tiles at both ends of lines, and lines at both ends of planes, are written out besides.
  const int64_t most_unrolled_taps = form.channels_last ? 16 : 64;
  plan.unrolled.assign(stage.reduce_axes.size(), false);
  std::vector<int> inward = form.other_taps;
  inward.insert(inward.end(), form.column_taps.begin(), form.column_taps.end());
  inward.insert(inward.end(), form.row_taps.begin(), form.row_taps.end());
  for (auto number = inward.rbegin(); number != inward.rend(); ++number) {
    if (shape.unrolled * taps_of(*number) > most_unrolled_taps) break;
    shape.unrolled *= taps_of(*number);
    plan.unrolled[static_cast<size_t>(*number)] = true;
  }
  plan.tile = window_tile(shape, context.target);
  plan.strips = strips_of(context.program, form);
  if (plan.strips && !is_worth_two_passes(shape, *plan.strips)) plan.strips.reset();
  if (plan.strips) plan.tile = tile_of_strips(shape, context.target);

  std::vector<const ir::Stage*> stages = {&stage};
  if (form.epilogue != nullptr) stages.push_back(form.epilogue);
  const double bytes = bytes_moved(context, stages);
  const auto tiles = [&](int axis, int64_t size) -> std::vector<Tiles> {
    if (axis == ir::none) return {{0, 1, 1, false, false}};
    const Dim& extent = stage.axes[static_cast<size_t>(axis)].extent;
    // Strips have columns for every tap.
    const bool whole = plan.strips && axis == form.column;
    return tiles_of(extent, size,
                    whole ? Interior{0, extent.value()} : interior_of(context.program, form, axis));
  };
  plan.row_tiles = tiles(form.row, plan.tile.rows);
  plan.column_tiles = tiles(form.column, plan.tile.columns);
  if (form.line != ir::none) {
    plan.line_tiles = tiles(form.line, 1);
    if (stage.axes[static_cast<size_t>(form.column)].extent.is_constant())
      plan.column_block = column_block(shape, plan.tile, bytes, context.target);
  }

  // Where planes are small.
  constexpr double worth = 0.7;
  plan.planes = plan_planes(context, form);
  if (plan.planes && plan.planes->cycles > worth * plan.tile.cycles) plan.planes.reset();

  // Cycles as the operations for which they would be enough.
  const int64_t lanes = context.target.lanes(4);
  double planes = 1, cycles = plan.planes ? plan.planes->cycles : plan.tile.cycles;
  for (const int axis : form.outer) planes *= static_cast<double>(typical(axis));
  if (form.epilogue != nullptr) {
    cycles += static_cast<double>(shape.rows * shape.columns) / static_cast<double>(lanes) *
              scalar_cost(context.program, form.epilogue->body[0]);
  }
  const double operations = 2 * static_cast<double>(lanes) * std::max(1, context.target.fma_ports);
  if (!is_worth_spreading(planes * cycles * operations, context.target, bytes)) return plan;
  double best = 0;
  for (const int axis : form.outer) {
    const int64_t piece = plan.planes && axis == plan.planes->form.plane ? lanes : 1;
    const double used = balance_of_axis(context.facts, stage.axes[static_cast<size_t>(axis)].extent, piece,
                                        context.target.cores);
    if (typical(axis) <= piece || used < best + 0.1) continue;
    best = used;
    plan.spread = WindowsPlan::Spread::outer;
    plan.spread_axis = axis;
  }
  if (plan.column_block != 0 && !plan.planes && plan.spread_axis == form.line)
    plan.spread = WindowsPlan::Spread::column_blocks;
  if (plan.planes && plan.spread == WindowsPlan::Spread::outer) plan.planes->spread_axis = plan.spread_axis;
  const int64_t down = (shape.rows + plan.tile.rows - 1) / plan.tile.rows;
  if (form.outer.empty() && down > 1) plan.spread = WindowsPlan::Spread::rows;
  return plan;
}

}  // namespace axrun::search
