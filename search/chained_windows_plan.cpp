#include <algorithm>
#include <utility>

#include "search/chained_windows.h"
#include "search/epilogue.h"
#include "search/work.h"

namespace axrun::search {

using ir::Dim;

namespace {

/// Lines first, first + 1, ..., first + count - 1 as tiles of rows, counted from the first one. Those whose
/// guards leave taps out stand apart.
std::vector<Tiles> tiles_of(int64_t first, int64_t count, int64_t size, const Interior& interior) {
  std::vector<Tiles> tiles;
  for (int64_t at = 0; at < count; at += size) {
    const int64_t rows = std::min(size, count - at);
    const bool inside = first + at >= interior.first && first + at + rows <= interior.end;
    const bool joins = inside && !tiles.empty() && !tiles.back().apart && tiles.back().size == rows;
    if (joins)
      tiles.back().count = tiles.back().count + 1;
    else
      tiles.push_back({Dim(at), Dim(1), rows, false, !inside});
  }
  return tiles;
}

/// Groups of `size` lines. Lines at the ends whose guards leave taps out are apart, and so are the last ones
/// where they are too few for a group. Workers wait while these are done.
std::vector<Tiles> groups_of(int64_t lines, int64_t size, const Interior& interior) {
  const int64_t first = std::min(interior.first, lines);
  const int64_t end = std::clamp(interior.end, first, lines);
  std::vector<Tiles> groups;
  const auto add = [&](int64_t from, int64_t count, int64_t step, bool apart) {
    if (count > 0) groups.push_back({Dim(from), Dim(count), step, false, apart});
  };
  const auto apart = [&](int64_t from, int64_t to) {
    for (; from < to; from += size) add(from, 1, std::min(size, to - from), true);
  };
  apart(0, first);
  const int64_t count = (end - first) / size;
  add(first, count, size, false);
  apart(first + count * size, lines);
  return groups;
}

/// Chooses how many lines a group has: long enough for whole tiles of both, and so few that their windows
/// stay in the second cache, next to what is read and written meanwhile.
class ChainedWindowsPlanner {
 public:
  ChainedWindowsPlanner(const PieceContext& context, const ChainedWindowsForm& form,
                        const CostOfOperand& operand)
      : context_(context),
        form_(form),
        operand_(operand),
        interior_(*interior_of(context.program, form.windows, form.windows.row)),
        lines_(extent(form.sum.line)),
        width_(extent(form.sum.place)),
        rows_(extent(form.sum.row)) {
    for (const ir::Axis& axis : form.sum.sum->reduce_axes) depth_ *= axis.extent.value();
  }

  ChainedWindowsPlan best() {
    choose(1);
    spread();
    if (best_.spread == ChainedWindowsPlan::Spread::groups) choose(context_.target.cores);
    for (const Tiles& group : best_.groups)
      best_.row_tiles.push_back(
          tiles_of(group.start.value(), group.size, best_.windows.tile.rows, interior_));
    best_.copied = form_.sum.epilogue != nullptr && is_long(context_.program, *form_.sum.epilogue);
    return best_;
  }

 private:
  int64_t extent(int axis) const {
    return context_.facts.typical(form_.sum.sum->axes[static_cast<size_t>(axis)].extent);
  }

  int64_t bytes(int64_t lines) const {
    return depth_ * lines * width_ * 4 + (operand_.bytes ? operand_.bytes(lines) : 0);
  }

  WindowsPlan windows(int64_t lines) const {
    PieceContext inner = context_;
    inner.parts[{form_.windows.reduction, form_.windows.row}] = {Dim(0), Dim(lines)};
    WindowsPlan plan = plan_windows(inner, form_.windows);
    plan.planes.reset();
    plan.spread = WindowsPlan::Spread::none;
    return plan;
  }

  /// The size that takes the least time.
  void choose(int cores) {
    const int64_t second = second_cache(context_.target);
    constexpr int64_t most = 16;
    cycles_ = 0;
    for (int64_t size = 1; size <= std::min(lines_, most); ++size) {
      if (size > 1 && bytes(size) > (operand_.bytes ? second / 2 : second / 4)) break;
      consider(size, cores);
    }
  }

  void consider(int64_t size, int cores) {
    std::vector<Tiles> groups = groups_of(lines_, size, interior_);
    double cycles = 0;
    for (const Tiles& group : groups) {
      const int64_t turns = group.apart ? 1 : (group.count.value() + cores - 1) / cores;
      cycles += static_cast<double>(turns) * cycles_of(group.size);
    }
    if (cycles_ != 0 && cycles > cycles_) return;
    cycles_ = cycles;
    best_.windows = windows(size);
    best_.tile = register_tile(rows_, size * width_, context_.target, true);
    best_.groups = std::move(groups);
  }

  double cycles_of(int64_t lines) const {
    const double sum = register_tile(rows_, lines * width_, context_.target, true).cycles;
    const double operand = operand_.cycles ? operand_.cycles(lines) : 0;
    return static_cast<double>(depth_) * (windows(lines).tile.cycles + sum) + operand;
  }

  /// By the outermost axis where it gives all workers as much, else by groups, of which those apart wait.
  void spread() {
    double outer = 1;
    for (const int axis : form_.sum.outer) outer *= static_cast<double>(extent(axis));
    const double operations = 2 * static_cast<double>(context_.target.lanes(4)) *
                              static_cast<double>(std::max(1, context_.target.fma_ports));
    if (!is_worth_spreading(outer * cycles_ * operations, context_.target)) return;
    constexpr double good = 0.8;
    const int64_t first = form_.sum.outer.empty() ? 1 : extent(form_.sum.outer[0]);
    const bool by_outer = first > 1 && balance(first, context_.target.cores) >= good;
    best_.spread = by_outer ? ChainedWindowsPlan::Spread::outer : ChainedWindowsPlan::Spread::groups;
  }

  const PieceContext& context_;
  const ChainedWindowsForm& form_;
  const CostOfOperand& operand_;
  const Interior interior_;
  const int64_t lines_, width_, rows_;
  int64_t depth_ = 1;
  ChainedWindowsPlan best_;
  double cycles_ = 0;
};

}  // namespace

ChainedWindowsPlan plan_chained_windows(const PieceContext& context, const ChainedWindowsForm& form,
                                        const CostOfOperand& operand) {
  return ChainedWindowsPlanner(context, form, operand).best();
}

}  // namespace axrun::search
