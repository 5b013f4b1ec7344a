#include <algorithm>
#include <optional>

#include "search/gathered_across.h"
#include "search/work.h"

namespace axrun::search {
namespace {

using Spread = GatheredPlan::Spread;

constexpr int64_t element = 4;  // bytes

int64_t ceil_of(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Sizes of a gathered product, and how far lines and places that taps share reach beyond the last ones.
struct Shape {
  int64_t rows = 1, lines = 1, width = 1, depth = 1, first = 1;
  int64_t outer = 1;
  int64_t taps = 1, phases = 1, reach_lines = 0, reach_places = 0, stride = 1;
};

Shape shape_of(const SizeFacts& facts, const GatheredForm& form, const GatheredPlan& plan) {
  const ir::Stage& sum = *form.sum;
  const auto extent = [&](int axis) { return facts.typical(sum.axes[static_cast<size_t>(axis)].extent); };
  Shape shape;
  shape.rows = extent(form.row);
  shape.lines = extent(form.line);
  shape.width = extent(form.place);
  for (const int axis : form.outer) shape.outer *= extent(axis);
  shape.first = sum.reduce_axes[0].extent.value();
  for (size_t k = 0; k < sum.reduce_axes.size(); ++k) {
    const int64_t steps = sum.reduce_axes[k].extent.value();
    shape.depth *= steps;
    if (!is_shared(form, plan, k)) continue;
    const GatheredForm::Shift& shift = form.shifts[k];
    shape.taps *= steps;
    shape.phases *= std::min(shift.stride, steps);
    shape.reach_lines += shift.lines * ((steps - 1) / shift.stride);
    shape.reach_places += shift.places * ((steps - 1) / shift.stride);
    shape.stride = std::max(shape.stride, shift.stride);
  }
  return shape;
}

/// Cycles of all steps along the sum for a group of tiles in registers: multiply-adds, or loads.
double multiply_cycles(const Shape& shape, const GatheredPlan& plan, const jit::Target& target) {
  const int64_t lanes = target.lanes(4), ports = std::max(1, target.fma_ports);
  constexpr double latency = 4, loads_per_cycle = 2, start = 12, panel_bytes_per_cycle = 24;
  constexpr double place_cycles = 0.02, vector_cycles = 0.15;  // what multiply-adds do not hide
  const auto tile = [&](int64_t places, int64_t vectors) {
    const auto p = static_cast<double>(places), v = static_cast<double>(vectors);
    const double step = std::max({p * v / static_cast<double>(ports), (p + v) / loads_per_cycle, latency,
                                  v * static_cast<double>(target.vector_bytes) / panel_bytes_per_cycle}) +
                        place_cycles * p + vector_cycles * v;
    return step * static_cast<double>(shape.depth) + start;
  };
  const int64_t places = plan.tile.rows / plan.tile_lines, vectors = plan.tile.columns / lanes;
  const auto across_rows = [&](int64_t here) {
    const int64_t rest = ceil_of(shape.rows % plan.tile.columns, lanes);
    return static_cast<double>(shape.rows / plan.tile.columns) * tile(here, vectors) +
           (rest == 0 ? 0 : tile(here, rest));
  };
  const int64_t rest = shape.width % places;
  const double line = static_cast<double>(shape.width / places) * across_rows(plan.tile.rows) +
                      (rest == 0 ? 0 : across_rows(rest));
  const int64_t whole = shape.lines / plan.lines, lines_left = shape.lines % plan.lines;
  return line * static_cast<double>(whole * ceil_of(plan.lines, plan.tile_lines) +
                                    ceil_of(lines_left, plan.tile_lines));
}

/// What is not multiplying: gathering, and turning the results; of all that is not spread.
double gather_cycles(const Shape& shape, const GatheredPlan& plan, int64_t lanes) {
  constexpr double near_cycles = 2, apart = 2, line_cycles = 6;
  const double line = near_cycles * (shape.stride == 1 ? 1 : apart) *
                          static_cast<double>(ceil_of(shape.width + shape.reach_places, lanes)) +
                      line_cycles;
  return static_cast<double>(ceil_of(shape.lines, plan.lines) * (plan.lines + shape.reach_lines)) *
         static_cast<double>(shape.depth / shape.taps * shape.phases) * line;
}

double turning_cycles(const Shape& shape, int64_t lanes) {
  constexpr double vector_cycles = 11;
  return vector_cycles * static_cast<double>(shape.rows * shape.lines) * static_cast<double>(shape.width) /
         static_cast<double>(lanes);
}

/// The part of the left side that all tiles of a group read, and how it is spread.
void choose_blocks(const Shape& shape, int64_t second, GatheredPlan& plan) {
  const int64_t step = shape.depth / shape.first * plan.tile.columns * element;
  const int64_t most = std::max<int64_t>(1, second / 4 / step);
  const int64_t tiles =
      ceil_of(plan.lines, plan.tile_lines) * ceil_of(shape.width * plan.tile_lines, plan.tile.rows);
  plan.panel_block = 0;
  if (tiles > 1 && shape.first > most + most / 2)
    plan.panel_block =
        ceil_of(ceil_of(shape.first, ceil_of(shape.first, most)), plan.unrolling.by) * plan.unrolling.by;
}

}  // namespace

std::vector<PlannedGathered> plans_across(const jit::Target& target, const SizeFacts& facts,
                                          const GatheredForm& form, bool spread) {
  const ir::Stage& sum = *form.sum;
  GatheredPlan plan;
  plan.across = true;
  plan.layout = GatheredPlan::Layout::lines;
  plan.unrolling = unrolling_of(sum);
  const Shape shape = shape_of(facts, form, plan);
  const int64_t lanes = target.lanes(4);
  if (shape.taps == 1) plan.layout = GatheredPlan::Layout::terms;
  // Vectors of one lane are none, and narrow ones waste lanes.
  if (!form.left_constant || shape.rows < lanes / 2 || shape.rows % lanes == 1) return {};
  const int64_t second = target.caches.size() > 1 ? target.caches[1].bytes : int64_t{256} << 10;
  const int64_t line_bytes =
      shape.depth / shape.taps * shape.phases * (shape.width + shape.reach_places) * element;
  const int64_t room = second / 2 / std::max<int64_t>(1, line_bytes) - shape.reach_lines;
  const int64_t spare = target.vector_registers > 16 ? 2 : 1;

  std::vector<PlannedGathered> plans;
  std::optional<PlannedGathered> best;
  const auto consider = [&](int64_t places, int64_t tile_lines, int64_t vectors) {
    const int64_t rows = places * tile_lines;
    if (rows < 2 || rows > lanes || rows * vectors + vectors + spare > target.vector_registers) return;
    if (shape.width % places == 1) return;
    plan.tile = {rows, vectors * lanes, 0};
    plan.tile_lines = tile_lines;
    // As many lines as there is room for, in even groups of whole tiles.
    const int64_t most = room / tile_lines * tile_lines;
    if (most < 1) return;
    for (const Spread way : {Spread::none, Spread::outer, Spread::groups, Spread::rows}) {
      if ((way == Spread::none) == spread) continue;
      int64_t groups = ceil_of(shape.lines, most);
      double share = 1, gathers = 1;
      plan.rows_of_piece = 0;
      const int64_t row_tiles = ceil_of(shape.rows, plan.tile.columns);
      if (way == Spread::outer) {
        if (form.outer.empty()) continue;
        const ir::Dim& first = sum.axes[static_cast<size_t>(form.outer[0])].extent;
        if (first == ir::Dim(1)) continue;
        share = balance_of_axis(facts, first, 1, target.cores);
      }
      if (way == Spread::groups) groups = std::max<int64_t>(groups, target.cores);
      plan.lines = std::min(most, ceil_of(ceil_of(shape.lines, groups), tile_lines) * tile_lines);
      if (way == Spread::groups) share = balance_of_pieces(shape.lines, plan.lines, target.cores);
      if (way == Spread::rows) {
        plan.rows_of_piece = even_piece(row_tiles, ceil_of(row_tiles, target.cores), target.cores);
        share = balance_of_pieces(row_tiles, plan.rows_of_piece, target.cores);
        gathers = static_cast<double>(ceil_of(row_tiles, plan.rows_of_piece));
      }
      plan.spread = way;
      choose_blocks(shape, second, plan);
      const double multiply = multiply_cycles(shape, plan, target), turn = turning_cycles(shape, lanes);
      const double cycles = (multiply + turn + gathers * gather_cycles(shape, plan, lanes)) / share;
      if (!best || cycles < best->cycles) best = PlannedGathered{plan, cycles};
    }
  };
  for (int64_t vectors = 1; vectors <= 6; ++vectors) {
    if (vectors > 1 && (vectors - 1) * lanes >= shape.rows) break;
    best.reset();
    for (int64_t places = 2; places <= std::min(lanes, shape.width); ++places) consider(places, 1, vectors);
    for (int64_t lines = 2; lines <= shape.lines && lines * shape.width <= lanes; ++lines)
      consider(shape.width, lines, vectors);
    if (best) plans.push_back(*best);
  }
  return plans;
}

}  // namespace axrun::search
