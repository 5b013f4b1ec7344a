#include <algorithm>
#include <optional>

#include "search/gathered_across.h"
#include "search/work.h"

namespace axrun::search {
namespace {

constexpr int64_t element_bytes = 4;

/// Sizes of a gathered product.
struct AcrossShape {
  int64_t rows = 1, lines = 1, width = 1, depth = 1, first = 1;
  int64_t outer = 1;
  int64_t taps = 1, phases = 1;  ///< taps that share lines that are gathered, and rows that these are in
  Reaches reach;
  bool apart = false;  ///< elements of a vector that is gathered do not lie side by side
};

/// Whether all taps that move by strides leave nothing between them, so that places may lie in order.
bool can_be_in_order(const GatheredForm& form) {
  bool strides = false;
  for (size_t k = 0; k < form.shifts.size(); ++k) {
    const GatheredForm::Shift& shift = form.shifts[k];
    if (!shift.any()) continue;
    if (form.sum->reduce_axes[k].extent.value() < shift.stride) return false;
    strides = strides || shift.stride > 1;
  }
  return strides;
}

AcrossShape shape_of(const SizeFacts& facts, const GatheredForm& form, const GatheredPlan& plan) {
  const ir::Stage& sum = *form.sum;
  const auto extent = [&](int axis) { return facts.typical(sum.axes[static_cast<size_t>(axis)].extent); };
  AcrossShape shape;
  shape.rows = extent(form.row);
  shape.lines = extent(form.line);
  shape.width = extent(form.place);
  for (const int axis : form.outer) shape.outer *= extent(axis);
  shape.first = sum.reduce_axes[0].extent.value();
  for (size_t k = 0; k < sum.reduce_axes.size(); ++k) {
    const int64_t steps = sum.reduce_axes[k].extent.value();
    shape.depth *= steps;
    if (!is_shared(form, plan, k)) continue;
    shape.taps *= steps;
    shape.phases *= phases(form, plan, k);
    shape.apart = shape.apart || (form.shifts[k].stride > 1 && !plan.in_order);
  }
  shape.reach = reaches(form, plan);
  return shape;
}

/// Whether tiles are so low that the nearest cache, not the second one, had better give them the left side:
/// of that one vector passes in a cycle.
bool keeps_panel_near(const GatheredPlan& plan) {
  constexpr int64_t low = 6;
  return plan.tile.rows <= low;
}

/// Cycles of all steps along the sum for a group of tiles in registers: multiply-adds, or loads.
double multiply_cycles(const AcrossShape& shape, const GatheredPlan& plan, const jit::Target& target) {
  const int64_t lanes = target.lanes(4), ports = std::max(1, target.fma_ports);
  constexpr double latency = 4, loads_per_cycle = 2, start = 12, panel_bytes_per_cycle = 24;
  const bool near = plan.panel_block != 0 && keeps_panel_near(plan);
  constexpr double place_cycles = 0.02, vector_cycles = 0.15;  // what multiply-adds do not hide
  const auto tile = [&](int64_t places, int64_t vectors) {
    const auto p = static_cast<double>(places), v = static_cast<double>(vectors);
    const double step =
        std::max({p * v / static_cast<double>(ports), (p + v) / loads_per_cycle, latency,
                  near ? 0 : v * static_cast<double>(target.vector_bytes) / panel_bytes_per_cycle}) +
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
double gather_cycles(const AcrossShape& shape, const GatheredPlan& plan, int64_t lanes) {
  constexpr double near_cycles = 2, apart = 2, line_cycles = 6;
  const double line = near_cycles * (shape.apart ? apart : 1) *
                          static_cast<double>(ceil_of(shape.reach.places.of(shape.width), lanes)) +
                      line_cycles;
  return static_cast<double>(ceil_of(shape.lines, plan.lines) * shape.reach.lines.of(plan.lines)) *
         static_cast<double>(shape.depth / shape.taps * shape.phases) * line;
}

double turning_cycles(const AcrossShape& shape, int64_t lanes) {
  constexpr double vector_cycles = 11;
  return vector_cycles * static_cast<double>(shape.rows * shape.lines) * static_cast<double>(shape.width) /
         static_cast<double>(lanes);
}

struct Caches {
  int64_t first = 0, second = 0;  ///< bytes
};

/// Bytes that a step along the first axis of the sum reads for a tile: of the left side, and lines of the
/// cache with what is gathered.
struct StepBytes {
  int64_t left = 0, gathered = 0;
};

StepBytes step_bytes(const AcrossShape& shape, const GatheredPlan& plan) {
  constexpr int64_t line = 64;
  const int64_t inner = shape.depth / shape.first;
  const bool shares_first = shape.taps > inner;
  const int64_t rows = shares_first ? inner : inner / shape.taps * shape.phases;
  const int64_t lines = shape.reach.lines.of(plan.tile_lines);
  const int64_t places = shape.reach.places.of(plan.tile.rows / plan.tile_lines);
  // Where a part of a line begins is not known.
  return {inner * plan.tile.columns * element_bytes,
          rows * lines * (places * element_bytes + line - element_bytes)};
}

/// The part of the left side that all tiles of a group read.
void choose_blocks(const AcrossShape& shape, const Caches& caches, GatheredPlan& plan) {
  const StepBytes step = step_bytes(shape, plan);
  int64_t most = caches.second / 4 / step.left;
  if (keeps_panel_near(plan)) most = std::min(most, caches.first / 4 * 3 / (step.left + step.gathered));
  most = std::max<int64_t>(1, most);
  const int64_t tiles =
      ceil_of(plan.lines, plan.tile_lines) * ceil_of(shape.width * plan.tile_lines, plan.tile.rows);
  plan.panel_block = 0;
  if (tiles > 1 && shape.first > most + most / 2)
    plan.panel_block =
        ceil_of(ceil_of(shape.first, ceil_of(shape.first, most)), plan.unrolling.by) * plan.unrolling.by;
}

/// What waiting for caches beyond the second takes: every group reads the left side from there, and where a
/// group is more than the second keeps, so does every tile of rows with what is gathered.
double far_cycles(const AcrossShape& shape, const Caches& caches, int64_t line_bytes,
                  const GatheredPlan& plan) {
  constexpr double left_cycles = 0.04, gathered_cycles = 0.03;  // for each byte
  const auto groups = static_cast<double>(ceil_of(shape.lines, plan.lines));
  const int64_t left = shape.rows * shape.depth * element_bytes;
  const int64_t gathered = shape.reach.lines.of(plan.lines) * line_bytes;
  double cycles = left_cycles * static_cast<double>(left);
  if (gathered > caches.second / 4 * 3)
    cycles += gathered_cycles * static_cast<double>(gathered * ceil_of(shape.rows, plan.tile.columns));
  return groups * cycles;
}

}  // namespace

std::vector<PlannedGathered> plans_across(const jit::Target& target, const SizeFacts& facts,
                                          const GatheredForm& form, bool spread) {
  const ir::Stage& sum = *form.sum;
  GatheredPlan plan;
  plan.across = true;
  plan.layout = GatheredPlan::Layout::lines;
  plan.unrolling = unrolling_of(sum);
  plan.in_order = can_be_in_order(form);
  const AcrossShape shape = shape_of(facts, form, plan);
  const int64_t lanes = target.lanes(4);
  if (shape.taps == 1) plan.layout = GatheredPlan::Layout::terms;
  // Vectors of one lane are none, and narrow ones waste lanes.
  if (!form.left_constant || shape.rows < lanes / 2 || shape.rows % lanes == 1) return {};
  const Caches caches = {target.caches.empty() ? int64_t{32} << 10 : target.caches[0].bytes,
                         second_cache(target)};
  const int64_t line_bytes =
      shape.depth / shape.taps * shape.phases * shape.reach.places.of(shape.width) * element_bytes;
  const auto lines_in = [&](int64_t bytes) -> int64_t {
    const Reach& down = shape.reach.lines;
    const int64_t gathered = bytes / std::max<int64_t>(1, line_bytes);
    return gathered <= down.beyond ? 0 : (gathered - 1 - down.beyond) / down.stride + 1;
  };
  const int64_t spare = target.vector_registers > 16 ? 2 : 1;

  std::vector<PlannedGathered> plans;
  std::optional<PlannedGathered> best;
  double least = 0;  ///< cycles of the best, with what caches that are far take
  const auto consider = [&](int64_t places, int64_t tile_lines, int64_t vectors) {
    const int64_t rows = places * tile_lines;
    if (rows < 2 || rows > lanes || rows * vectors + vectors + spare > target.vector_registers) return;
    if (shape.width % places == 1) return;
    plan.tile = {rows, vectors * lanes, 0};
    plan.tile_lines = tile_lines;
    // As many lines as there is room for, in even groups of whole tiles; with parts of the left side in the
    // nearest cache perhaps more.
    const int64_t most = lines_in(caches.second / 2) / tile_lines * tile_lines;
    const int64_t most_near = std::max(most, lines_in(caches.second) / tile_lines * tile_lines);
    if (most < 1) return;
    for (const GatheredPlan::Spread way : {GatheredPlan::Spread::none, GatheredPlan::Spread::outer,
                                           GatheredPlan::Spread::groups, GatheredPlan::Spread::rows}) {
      if ((way == GatheredPlan::Spread::none) == spread) continue;
      double share = 1, gathers = 1;
      plan.spread = way;
      plan.rows_of_piece = 0;
      const int64_t row_tiles = ceil_of(shape.rows, plan.tile.columns);
      if (way == GatheredPlan::Spread::outer) {
        if (form.outer.empty()) continue;
        const ir::Dim& first = sum.axes[static_cast<size_t>(form.outer[0])].extent;
        if (first == ir::Dim(1)) continue;
        share = balance_of_axis(facts, first, 1, target.cores);
      }
      if (way == GatheredPlan::Spread::rows) {
        plan.rows_of_piece = even_piece(row_tiles, ceil_of(row_tiles, target.cores), target.cores);
        share = balance_of_pieces(row_tiles, plan.rows_of_piece, target.cores);
        gathers = static_cast<double>(ceil_of(row_tiles, plan.rows_of_piece));
      }
      const int64_t fewest = way == GatheredPlan::Spread::groups ? target.cores : 1;
      const auto in_groups = [&](int64_t groups, int64_t highest) {
        plan.lines = std::min(highest, ceil_of(ceil_of(shape.lines, groups), tile_lines) * tile_lines);
        if (way == GatheredPlan::Spread::groups)
          share = balance_of_pieces(shape.lines, plan.lines, target.cores);
        choose_blocks(shape, caches, plan);
        const double multiply = multiply_cycles(shape, plan, target), turn = turning_cycles(shape, lanes);
        const double cycles = (multiply + turn + gathers * gather_cycles(shape, plan, lanes)) / share;
        const double with_far = cycles + far_cycles(shape, caches, line_bytes, plan) / share;
        if (best && with_far >= least) return;
        least = with_far;
        best = PlannedGathered{plan, cycles};
      };
      const int64_t groups = std::max(fewest, ceil_of(shape.lines, most));
      in_groups(groups, most);
      if (plan.panel_block == 0 || !keeps_panel_near(plan)) continue;
      for (int64_t fewer = std::max(fewest, ceil_of(shape.lines, most_near)); fewer < groups; ++fewer)
        in_groups(fewer, most_near);
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
