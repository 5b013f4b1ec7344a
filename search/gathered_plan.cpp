#include "search/gathered_plan.h"

#include <algorithm>

#include "search/epilogue.h"
#include "search/work.h"

namespace axrun::search {
namespace {

using Spread = GatheredPlan::Spread;

constexpr int64_t element = 4;  // bytes

int64_t ceil_of(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Sizes of a gathered product.
struct Shape {
  int64_t rows = 1, lines = 1, width = 1;
  int64_t first = 1;  ///< extent of the first reduce axis
  int64_t inner = 1;  ///< product of the others
  int64_t taps = 1;   ///< terms that share what is gathered
  int64_t reach_lines = 0, reach_places = 0;
};

class Planner {
 public:
  Planner(const PieceContext& context, const GatheredForm& form, const Shape& shape, Spread spread)
      : form_(form), shape_(shape), target_(context.target), lanes_(target_.lanes(4)) {
    second_ = target_.caches.size() > 1 ? target_.caches[1].bytes : int64_t{256} << 10;
    plan_.spread = spread;
    plan_.shared = shape.taps > 1;
    choose_block();
    choose_unrolling();
    choose_lines();
  }

  const GatheredPlan& plan() const { return plan_; }
  double cycles() const { return cycles_; }

 private:
  int64_t pitch() const { return shape_.width + shape_.reach_places; }
  int64_t depth() const { return shape_.first * shape_.inner; }
  int64_t block_depth() const {
    return (plan_.depth_block == 0 ? shape_.first : plan_.depth_block) * shape_.inner;
  }

  /// A line takes half of the second cache at most. What is gathered for one term each is long, so that the
  /// part of the left side that is multiplied with it had better stay in the first.
  void choose_block() {
    constexpr int64_t longest = 1280, long_enough = 640, longest_shared = 8192;
    int64_t block = shape_.first;
    const auto divide = [&](int64_t most) {
      const int64_t parts = ceil_of(shape_.first, std::max<int64_t>(1, most));
      block = ceil_of(shape_.first, parts);
    };
    if (depth() > (plan_.shared ? longest_shared : longest)) divide(long_enough / shape_.inner);
    const int64_t line = shape_.inner * pitch() * element / shape_.taps * (1 + shape_.reach_lines);
    if (block * line > second_ / 2) divide(second_ / 2 / std::max<int64_t>(1, line));
    // A first axis of taps is not gathered in parts.
    if (block < shape_.first && (!plan_.shared || !form_.shifts[0].any())) plan_.depth_block = block;
  }

  void choose_unrolling() {
    constexpr int64_t most_unrolled = 12, enough_unrolled = 4;
    const auto& axes = form_.sum->reduce_axes;
    int64_t unrolled = 1;
    plan_.first_unrolled = axes.size();
    while (plan_.first_unrolled > 1) {
      const int64_t steps = axes[plan_.first_unrolled - 1].extent.value();
      if (unrolled * steps > most_unrolled) break;
      unrolled *= steps;
      --plan_.first_unrolled;
    }
    if (unrolled < enough_unrolled) plan_.unroll = enough_unrolled / unrolled;
  }

  /// Vectors of columns that are computed for all lines, in groups of so many.
  int64_t columns(int64_t lines) const { return (lines - 1) * pitch() + shape_.width; }
  int64_t vectors_of(int64_t lines, const RegisterTile& shape_of_tile) const {
    const int64_t whole = shape_.lines / lines, rest = shape_.lines % lines;
    if (rest == 0) return whole * ceil_of(columns(lines), lanes_);
    const int64_t tile = shape_of_tile.columns;
    return (whole * ceil_of(columns(lines), tile) + ceil_of(columns(rest), tile)) * (tile / lanes_);
  }

  void choose_lines() {
    const int64_t line_bytes = block_depth() * pitch() * element / shape_.taps;
    const int64_t room = std::max<int64_t>(1, second_ / 2 / line_bytes - shape_.reach_lines);
    for (int64_t lines = 1; lines <= std::min(shape_.lines, room); ++lines) {
      const RegisterTile tile = register_tile(shape_.rows, columns(lines), target_, true);
      const auto groups = static_cast<double>(ceil_of(shape_.lines, lines));
      const auto vectors = static_cast<double>(vectors_of(lines, tile));
      const auto rows = static_cast<double>(shape_.rows), steps = static_cast<double>(depth());
      // A group reads the left side once; gathering loads and stores.
      constexpr double bytes_per_cycle = 16, gather_cycles = 2.5, line_cycles = 4;
      const double multiply = vectors * rows * steps / std::max(1, target_.fma_ports);
      const double read = groups * rows * steps * element / bytes_per_cycle;
      const double per_line = gather_cycles * static_cast<double>(ceil_of(pitch(), lanes_)) + line_cycles;
      const double gather = groups * static_cast<double>(lines + shape_.reach_lines) * steps /
                            static_cast<double>(shape_.taps) * per_line;
      const double parts =
          plan_.depth_block == 0 ? 0 : static_cast<double>(ceil_of(shape_.first, plan_.depth_block));
      const double passes = (plan_.shared ? 2 : 0) + 2 * parts;  // of sums that wait
      const double share =
          plan_.spread == Spread::groups ? balance(ceil_of(shape_.lines, lines), target_.cores) : 1;
      const double cycles = (multiply + read + gather + passes * vectors * rows) / share;
      if (cycles_ == 0 || cycles <= cycles_) {
        cycles_ = cycles;
        plan_.lines = lines;
        plan_.tile = tile;
      }
    }
  }

  const GatheredForm& form_;
  const Shape shape_;
  const jit::Target& target_;
  const int64_t lanes_;
  int64_t second_ = 0;  ///< bytes
  GatheredPlan plan_;
  double cycles_ = 0;
};

}  // namespace

GatheredPlan plan_gathered(const PieceContext& context, const GatheredForm& form) {
  const ir::Stage& sum = *form.sum;
  const auto extent = [&](int axis) {
    return context.facts.typical(sum.axes[static_cast<size_t>(axis)].extent);
  };
  Shape shape;
  shape.rows = extent(form.row);
  shape.lines = extent(form.line);
  shape.width = extent(form.place);
  shape.first = sum.reduce_axes[0].extent.value();
  for (size_t k = 1; k < sum.reduce_axes.size(); ++k) shape.inner *= sum.reduce_axes[k].extent.value();
  int64_t outer = 1;
  for (const int axis : form.outer) outer *= extent(axis);

  Spread spread = Spread::none;
  const double flops = 2.0 * static_cast<double>(shape.rows * shape.lines) *
                       static_cast<double>(shape.width * shape.first) *
                       static_cast<double>(shape.inner * outer);
  if (is_worth_spreading(flops, context.target)) {
    constexpr double good = 0.8;
    const int64_t first_outer = form.outer.empty() ? 1 : extent(form.outer[0]);
    const bool by_outer = first_outer > 1 && balance(first_outer, context.target.cores) >= good;
    spread = by_outer ? Spread::outer : Spread::groups;
  }

  const Planner apart(context, form, shape, spread);
  for (size_t k = 0; k < form.shifts.size(); ++k) {
    if (!form.shifts[k].any()) continue;
    const int64_t steps = sum.reduce_axes[k].extent.value();
    shape.taps *= steps;
    shape.reach_lines += form.shifts[k].lines * (steps - 1);
    shape.reach_places += form.shifts[k].places * (steps - 1);
  }
  GatheredPlan plan = apart.plan();
  if (shape.taps != 1) {
    const Planner shared(context, form, shape, spread);
    if (shared.cycles() < apart.cycles()) plan = shared.plan();
  }
  plan.copied = form.epilogue != nullptr && is_long(context.program, *form.epilogue);
  return plan;
}

}  // namespace axrun::search
