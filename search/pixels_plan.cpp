#include "search/pixels_plan.h"

#include <algorithm>

#include "search/epilogue.h"
#include "search/padded_lines.h"
#include "search/work.h"

namespace axrun::search {
namespace {

struct PixelsShape {
  int64_t rows = 1, lines = 1, width = 1, depth = 1;
  bool narrow = true;       ///< the last tile of rows is as narrow as what is left
  bool even_lines = false;  ///< tiles may be of several lines
};

/// Cycles of all steps along the sum, of one of the outer axes.
double cycles_of(const PixelsShape& shape, const PixelsPlan& plan, const jit::Target& target) {
  constexpr double latency = 4, loads_per_cycle = 2, start = 12, panel_bytes_per_cycle = 24;
  constexpr double place_cycles = 0.05, vector_cycles = 0.1;  // what multiply-adds do not hide
  const int64_t lanes = target.lanes(4);
  const auto one = [&](int64_t places, int64_t vectors) {
    if (places == 0 || vectors == 0) return 0.0;
    const auto p = static_cast<double>(places), v = static_cast<double>(vectors);
    const double step = std::max({p * v / std::max(1, target.fma_ports), (p + v) / loads_per_cycle, latency,
                                  v * static_cast<double>(target.vector_bytes) / panel_bytes_per_cycle});
    return (step + place_cycles * p + vector_cycles * v) * static_cast<double>(shape.depth) + start;
  };
  const int64_t places = plan.tile.rows / plan.tile_lines;
  const auto all_lines = [&](int64_t vectors) {
    const double line = static_cast<double>(shape.width / places) * one(plan.tile.rows, vectors) +
                        one(shape.width % places * plan.tile_lines, vectors);
    return static_cast<double>(shape.lines / plan.tile_lines) * line +
           one(shape.lines % plan.tile_lines * places, vectors);
  };
  const int64_t wide = plan.tile.columns / lanes, rest = ceil_of(shape.rows % plan.tile.columns, lanes);
  return static_cast<double>(shape.rows / plan.tile.columns) * all_lines(wide) +
         all_lines(shape.narrow || rest == 0 ? rest : wide);
}

/// Places of a line, or of several, by rows of the constants. What is turned has two places at least, and a
/// square at most.
void choose_tile(const PixelsForm& form, const PixelsShape& shape, const jit::Target& target,
                 PixelsPlan& plan) {
  const int64_t lanes = target.lanes(4), spare = target.vector_registers > 16 ? 3 : 1;
  constexpr int64_t most_vectors = 6;
  double least = 0;
  PixelsPlan best = plan;
  const auto consider = [&](int64_t places, int64_t lines, int64_t vectors) {
    const int64_t height = places * lines;
    if (height * vectors + vectors + spare > target.vector_registers) return;
    if (!form.rows_last && (height < 2 || height > lanes || shape.width % places == 1)) return;
    plan.tile = {height, vectors * lanes, 0};
    plan.tile_lines = lines;
    const double cycles = cycles_of(shape, plan, target);
    if (least != 0 && cycles >= least) return;
    least = cycles;
    best = plan;
  };
  for (int64_t vectors = 1; vectors <= most_vectors; ++vectors) {
    if (vectors > 1 && (vectors - 1) * lanes >= shape.rows) break;
    for (int64_t places = 1; places <= shape.width; ++places) consider(places, 1, vectors);
    for (int64_t lines = 2; shape.even_lines && lines <= shape.lines; ++lines)
      consider(shape.width, lines, vectors);
  }
  plan = best;
}

/// Innermost steps along the sum are written out as long as code stays short.
void choose_unrolling(const ir::Stage& sum, int64_t lanes, PixelsPlan& plan) {
  constexpr int64_t most_taps = 12, most_steps = 400, most = 4;
  plan.unrolling = unrolling_of(sum, most_taps, 1);
  int64_t of_tile = plan.tile.rows * plan.tile.columns / lanes;
  for (size_t k = plan.unrolling.first; k < sum.reduce_axes.size(); ++k)
    of_tile *= sum.reduce_axes[k].extent.value();
  const int64_t by = std::clamp<int64_t>(most_steps / of_tile, 1, most);
  plan.unrolling.by = std::min(by, sum.reduce_axes[plan.unrolling.first - 1].extent.value());
}

}  // namespace

PixelsPlan plan_pixels(const PieceContext& context, const PixelsForm& form) {
  const jit::Target& target = context.target;
  const SizeFacts& facts = context.facts;
  const ir::Stage& sum = *form.sum.sum;
  const auto extent = [&](int axis) { return facts.typical(sum.axes[static_cast<size_t>(axis)].extent); };
  const int64_t lanes = target.lanes(4);
  const int64_t rows = extent(form.sum.row), width = extent(form.sum.place), lines = extent(form.sum.line);
  int64_t depth = 1, outer = 1;
  for (const ir::Axis& axis : sum.reduce_axes) depth *= axis.extent.value();
  for (const int axis : form.sum.outer) outer *= extent(axis);

  PixelsPlan plan;
  PixelsShape shape{rows, lines, width, depth};
  shape.even_lines = sum.axes[static_cast<size_t>(form.sum.line)].extent.is_constant();
  choose_tile(form, shape, target, plan);
  plan.copied =
      !form.rows_last || (form.sum.epilogue != nullptr && is_long(context.program, *form.sum.epilogue));

  // As many lines as leave room for a panel of the constants.
  const int64_t second = second_cache(target);
  const int64_t tile_bytes = 4 * plan.tile.columns * width;  // of sums that wait, for a line
  const auto bytes = [&](int64_t count) { return PaddedLines::bytes(form, count) + tile_bytes * count; };
  int64_t most = 1;
  while (most < lines && bytes(most + 1) <= second / 4) ++most;
  int64_t groups = ceil_of(lines, most);

  const auto weights = static_cast<double>(4 * rows * depth);
  const double flops = 2.0 * static_cast<double>(rows * width * lines) * static_cast<double>(depth * outer);
  if (is_worth_spreading(flops, target)) {
    double best = 0;
    const auto consider = [&](PixelsPlan::Spread spread, double share) {
      constexpr double worth = 0.05;
      if (share < best + worth) return;
      best = share;
      plan.spread = spread;
    };
    const int64_t row_tiles = ceil_of(rows, plan.tile.columns);
    const int64_t piece = even_piece(row_tiles, ceil_of(row_tiles, target.cores), target.cores);
    if (!form.sum.outer.empty())
      consider(
          PixelsPlan::Spread::outer,
          balance_of_axis(facts, sum.axes[static_cast<size_t>(form.sum.outer[0])].extent, 1, target.cores));
    // Constants that no cache keeps are read by one worker each.
    const double by_rows = balance_of_pieces(row_tiles, piece, target.cores);
    if (weights > static_cast<double>(second)) consider(PixelsPlan::Spread::rows, by_rows);
    const int64_t parts = std::max<int64_t>(groups, std::min<int64_t>(lines, target.cores));
    const double by_groups = balance_of_pieces(lines, ceil_of(lines, parts), target.cores);
    consider(PixelsPlan::Spread::groups, by_groups);
    consider(PixelsPlan::Spread::rows, by_rows);
    shape.narrow = plan.spread != PixelsPlan::Spread::rows;
    if (plan.spread == PixelsPlan::Spread::groups) groups = parts;
  }
  plan.lines = ceil_of(lines, groups);
  shape.even_lines = shape.even_lines && lines % plan.lines == 0;
  shape.lines = plan.lines;
  choose_tile(form, shape, target, plan);
  if (plan.spread == PixelsPlan::Spread::rows) {
    const int64_t tiles = ceil_of(rows, plan.tile.columns);
    plan.rows_of_piece = even_piece(tiles, ceil_of(tiles, target.cores), target.cores);
  }
  choose_unrolling(sum, lanes, plan);

  // Panels that pass from the second cache many times.
  const int64_t first = sum.reduce_axes[0].extent.value();
  const int64_t step = 4 * depth / first * plan.tile.columns;
  const int64_t most_steps = std::max<int64_t>(1, second / 4 / step);
  const int64_t places = plan.tile.rows / plan.tile_lines;
  const int64_t tiles = ceil_of(plan.lines, plan.tile_lines) * ceil_of(width, places);
  if (tiles > 1 && first > most_steps + most_steps / 2) {
    const int64_t steps = ceil_of(first, ceil_of(first, most_steps));
    plan.panel_block = ceil_of(steps, plan.unrolling.by) * plan.unrolling.by;
  }
  return plan;
}

}  // namespace axrun::search
