#include "search/gathered_plan.h"

#include <algorithm>

#include "search/work.h"

namespace axrun::search {
namespace {

constexpr int64_t element = 4;  // bytes

int64_t ceil_of(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Vectors of columns that are computed for all lines, in groups of so many.
int64_t vectors_of(int64_t lines, int64_t all, int64_t width, const RegisterTile& tile, int64_t lanes) {
  if (all % lines == 0) return all / lines * ceil_of(lines * width, lanes);
  const int64_t vectors = tile.columns / lanes;
  return all / lines * ceil_of(lines * width, tile.columns) * vectors +
         ceil_of(all % lines * width, tile.columns) * vectors;
}

}  // namespace

GatheredPlan plan_gathered(const PieceContext& context, const GatheredForm& form) {
  const SizeFacts& facts = context.facts;
  const jit::Target& target = context.target;
  const ir::Stage& sum = *form.sum;
  const auto extent = [&](int axis) { return facts.typical(sum.axes[static_cast<size_t>(axis)].extent); };
  const int64_t rows = extent(form.row), width = extent(form.place), all_lines = extent(form.line);
  const int64_t first = sum.reduce_axes[0].extent.value();
  int64_t inner = 1, outer = 1;
  for (size_t k = 1; k < sum.reduce_axes.size(); ++k) inner *= sum.reduce_axes[k].extent.value();
  for (const int axis : form.outer) outer *= extent(axis);
  const int64_t second = target.caches.size() > 1 ? target.caches[1].bytes : int64_t{256} << 10;
  const int64_t lanes = target.lanes(4);

  GatheredPlan plan;
  plan.tile = register_tile(rows, width * all_lines, target, true);

  // A group takes half of the second cache at most, and the part of the left side that is multiplied with it
  // stays in the first.
  constexpr int64_t longest = 1280, long_enough = 640;
  int64_t block = first;
  const auto divide = [&](int64_t most) {
    const int64_t parts = ceil_of(first, std::max<int64_t>(1, most));
    block = ceil_of(first, parts);
  };
  if (first * inner > longest) divide(long_enough / inner);
  if (block * inner * width * element > second / 2) divide(second / 2 / (inner * width * element));
  if (block < first) plan.depth_block = block;
  constexpr int64_t most_unrolled = 12, enough_unrolled = 4;
  int64_t unrolled = 1;
  plan.first_unrolled = sum.reduce_axes.size();
  while (plan.first_unrolled > 1) {
    const int64_t steps = sum.reduce_axes[plan.first_unrolled - 1].extent.value();
    if (unrolled * steps > most_unrolled) break;
    unrolled *= steps;
    --plan.first_unrolled;
  }
  if (unrolled < enough_unrolled) plan.unroll = enough_unrolled / unrolled;

  using Spread = GatheredPlan::Spread;
  const double flops = 2.0 * static_cast<double>(rows * width) * static_cast<double>(all_lines * first) *
                       static_cast<double>(inner * outer);
  const bool spread = is_worth_spreading(flops, target);
  const int64_t first_outer = form.outer.empty() ? 1 : extent(form.outer[0]);
  if (spread) {
    constexpr double good = 0.8;
    plan.spread =
        first_outer > 1 && balance(first_outer, target.cores) >= good ? Spread::outer : Spread::groups;
  }

  const int64_t room = std::max<int64_t>(1, second / 2 / (block * inner * element) / width);
  double least = 0;
  for (int64_t lines = 1; lines <= std::min(all_lines, room); ++lines) {
    const int64_t groups = ceil_of(all_lines, lines);
    // Cycles of multiply-adds, and of reading the left side once for each group.
    const double multiply =
        static_cast<double>(vectors_of(lines, all_lines, width, plan.tile, lanes) * rows) /
        std::max(1, target.fma_ports);
    constexpr double bytes_per_cycle = 16;
    const double read = static_cast<double>(groups * rows * element) / bytes_per_cycle;
    const double share = plan.spread == Spread::groups ? balance(groups, target.cores) : 1;
    const double cost = (multiply + read) / share;
    if (least == 0 || cost <= least) {
      least = cost;
      plan.lines = lines;
    }
  }
  return plan;
}

}  // namespace axrun::search
