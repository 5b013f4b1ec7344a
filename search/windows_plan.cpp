#include "search/windows_plan.h"

#include <algorithm>

#include "search/scalar_cost.h"
#include "search/stage_values.h"
#include "search/work.h"

namespace axrun::search {

using ir::Dim;

namespace {

/// Written-out multiply-adds (or other steps) of a tile, and tiles at the ends of an axis: code is as long.
constexpr int64_t most_steps = 1024, most_tiles_apart = 4;

struct Shape {
  int64_t rows = 1, columns = 1;  ///< of the result
  int64_t taps = 1, row_taps = 1;
  int64_t row_step = 1;
};

/// Cycles for a tile of `rows` x `vectors`, by what limits it.
double cycles(const Shape& shape, int64_t step, int64_t rows, int64_t vectors, int ports) {
  // Vectors that are read cross cache lines; those with a step are two reads and a permutation.
  const double read_cycles = step == 1 ? 1 : 1.5 * static_cast<double>(step);
  constexpr double start = 4, row_start = 1.5, latency = 4, overlap = 2;
  const auto r = static_cast<double>(rows), v = static_cast<double>(vectors);
  const auto taps = static_cast<double>(shape.taps);
  const auto columns_read = taps / static_cast<double>(shape.row_taps);
  const double lines =
      static_cast<double>(std::min(rows * shape.row_taps, shape.row_step * (rows - 1) + shape.row_taps));
  const double arithmetic = r * v * taps / ports;
  const double reading = lines * columns_read * v * read_cycles;
  return std::max({arithmetic, reading, taps * latency / overlap}) + start + row_start * r * v;
}

void choose_tile(const Shape& shape, const WindowsForm& form, const jit::Target& target, int64_t unrolled,
                 WindowsPlan& plan) {
  const int64_t lanes = target.lanes(4);
  const int ports = std::max(1, target.fma_ports);
  constexpr int64_t most_vectors = 4, most_rows = 8;
  const int64_t spare = target.vector_registers > 16 ? 4 : 3;
  double least = 0;
  for (int64_t vectors = 1; vectors <= most_vectors; ++vectors) {
    if (vectors > 1 && (vectors - 1) * lanes >= shape.columns) break;
    for (int64_t rows = 1; rows <= std::min(shape.rows, most_rows); ++rows) {
      // Accumulators, the rows that the next one of the tile reads again, and the taps of a column.
      const int64_t registers =
          rows * vectors + std::min(shape.row_taps, rows * shape.row_taps) * (vectors + 1) + spare;
      if (rows * vectors > 1 && registers > target.vector_registers) break;
      if (rows * vectors > 1 && rows * vectors * unrolled > most_steps) break;
      const int64_t across = (shape.columns + vectors * lanes - 1) / (vectors * lanes);
      const int64_t last_vectors = (shape.columns - (across - 1) * vectors * lanes + lanes - 1) / lanes;
      const int64_t down = (shape.rows + rows - 1) / rows, last_rows = shape.rows - (down - 1) * rows;
      const auto all_columns = [&](int64_t height) {
        return static_cast<double>(across - 1) * cycles(shape, form.step, height, vectors, ports) +
               cycles(shape, form.step, height, last_vectors, ports);
      };
      const double cost = static_cast<double>(down - 1) * all_columns(rows) + all_columns(last_rows);
      if (least != 0 && cost >= least) continue;
      least = cost;
      plan.rows = rows;
      plan.columns = vectors * lanes;
    }
  }
}

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

}  // namespace

WindowsPlan plan_windows(const PieceContext& context, const WindowsForm& form) {
  const ir::Stage& stage = *form.reduction;
  const auto typical = [&](int axis) {
    return axis == ir::none ? int64_t{1}
                            : context.facts.typical(stage.axes[static_cast<size_t>(axis)].extent);
  };
  const auto taps_of = [&](int number) {
    return stage.reduce_axes[static_cast<size_t>(number)].extent.value();
  };

  WindowsPlan plan;
  Shape shape;
  shape.rows = typical(form.row);
  shape.columns = typical(form.column);
  for (const int number : form.row_taps) shape.row_taps *= taps_of(number);
  shape.taps = shape.row_taps;
  for (const int number : form.other_taps) shape.taps *= taps_of(number);
  shape.row_step = form.row_step;

  // From the innermost loop on, as many taps as code may hold.
  constexpr int64_t most_unrolled_taps = 64;
  plan.unrolled.assign(stage.reduce_axes.size(), false);
  int64_t unrolled = 1;
  std::vector<int> inward = form.other_taps;
  inward.insert(inward.end(), form.row_taps.begin(), form.row_taps.end());
  for (auto number = inward.rbegin(); number != inward.rend(); ++number) {
    if (unrolled * taps_of(*number) > most_unrolled_taps) break;
    unrolled *= taps_of(*number);
    plan.unrolled[static_cast<size_t>(*number)] = true;
  }
  choose_tile(shape, form, context.target, unrolled, plan);

  const auto tiles = [&](int axis, int64_t size) -> std::vector<Tiles> {
    if (axis == ir::none) return {{0, 1, 1, false, false}};
    return tiles_of(stage.axes[static_cast<size_t>(axis)].extent, size,
                    interior_of(context.program, form, axis));
  };
  plan.row_tiles = tiles(form.row, plan.rows);
  plan.column_tiles = tiles(form.column, plan.columns);

  const int64_t vectors = plan.columns / context.target.lanes(4);
  const int64_t busy = plan.rows * vectors + shape.row_taps * vectors;
  constexpr int64_t spare = 2;
  plan.taps_in_registers =
      unrolled == shape.taps && busy + shape.taps + spare <= context.target.vector_registers;

  double work = static_cast<double>(shape.rows) * static_cast<double>(shape.columns);
  for (const int axis : form.outer) work *= static_cast<double>(typical(axis));
  constexpr double overhead = 8;  // what is not arithmetic, in operations
  double operations = static_cast<double>(shape.taps) * (2 + scalar_cost(context.program, stage.body[0]));
  if (form.epilogue != nullptr) operations += scalar_cost(context.program, form.epilogue->body[0]);
  if (!is_worth_spreading(work * (overhead + operations), context.target)) return plan;
  double best = 0;
  for (const int axis : form.outer) {
    const int64_t count = typical(axis);
    if (count < 2 || balance(count, context.target.cores) < best + 0.1) continue;
    best = balance(count, context.target.cores);
    plan.spread = WindowsPlan::Spread::outer;
    plan.spread_axis = axis;
  }
  const int64_t down = (shape.rows + plan.rows - 1) / plan.rows;
  if (form.outer.empty() && down > 1) plan.spread = WindowsPlan::Spread::rows;
  return plan;
}

}  // namespace axrun::search
