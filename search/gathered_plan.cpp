#include "search/gathered_plan.h"

#include <algorithm>
#include <limits>

#include "search/epilogue.h"
#include "search/gathered_across.h"
#include "search/work.h"

namespace axrun::search {
namespace {

using Layout = GatheredPlan::Layout;

constexpr int64_t element_bytes = 4;

/// Sizes of a gathered product.
struct GatheredShape {
  int64_t rows = 1, lines = 1, width = 1;
  int64_t first = 1;   ///< extent of the first reduce axis
  int64_t inner = 1;   ///< product of the others
  int64_t taps = 1;    ///< terms that share what is gathered
  int64_t phases = 1;  ///< of what they share: rows of the matrix
  int64_t reach_lines = 0, reach_places = 0;
  int64_t stride = 1;  ///< from place to place, as far as is known
};

class GatheredPlanner {
 public:
  /// plan: with what has been decided.
  GatheredPlanner(const PieceContext& context, const GatheredForm& form, const GatheredShape& shape,
                  const GatheredPlan& plan)
      : form_(form), shape_(shape), target_(context.target), lanes_(target_.lanes(4)), plan_(plan) {
    first_cache_ = target_.caches.empty() ? int64_t{32} << 10 : target_.caches[0].bytes;
    second_ = second_cache(target_);
    choose_block();
    choose_lines();
  }

  const GatheredPlan& plan() const { return plan_; }
  double cycles() const { return cycles_; }

 private:
  int64_t pitch() const {
    if (plan_.layout != Layout::lines) return shape_.width + shape_.reach_places;
    return ceil_of(ceil_of(shape_.width, lanes_) * lanes_ + shape_.reach_places, lanes_) * lanes_;
  }
  /// Rows of the matrix for so many steps along k.
  int64_t matrix_rows(int64_t steps) const { return steps / shape_.taps * shape_.phases; }
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
    const bool shared = plan_.layout != Layout::terms;
    if (depth() > (shared ? longest_shared : longest)) divide(long_enough / shape_.inner);
    const int64_t line =
        shape_.inner * pitch() * element_bytes * shape_.phases / shape_.taps * (1 + shape_.reach_lines);
    if (block * line > second_ / 2) divide(second_ / 2 / std::max<int64_t>(1, line));
    // A first axis of taps is not gathered in parts.
    if (block < shape_.first && (!shared || !form_.shifts[0].any())) plan_.depth_block = block;
  }

  /// Columns that tiles divide among them.
  int64_t columns(int64_t lines) const {
    return plan_.layout == Layout::lines ? shape_.width : (lines - 1) * pitch() + shape_.width;
  }
  /// Vectors of columns that are computed for all lines, in groups of so many.
  int64_t vectors_of(int64_t lines, const RegisterTile& shape_of_tile) const {
    if (plan_.layout == Layout::lines) return shape_.lines * ceil_of(shape_.width, lanes_);
    const int64_t whole = shape_.lines / lines, rest = shape_.lines % lines;
    if (rest == 0) return whole * ceil_of(columns(lines), lanes_);
    const int64_t tile = shape_of_tile.columns;
    return (whole * ceil_of(columns(lines), tile) + ceil_of(columns(rest), tile)) * (tile / lanes_);
  }

  void choose_lines() {
    const int64_t line_bytes = matrix_rows(block_depth()) * pitch() * element_bytes;
    const int64_t room = std::max<int64_t>(1, second_ / 2 / line_bytes - shape_.reach_lines);
    for (int64_t lines = 1; lines <= std::min(shape_.lines, room); ++lines) {
      const bool together = plan_.layout == Layout::lines && shape_.lines % lines == 0;
      const RegisterTile tile = register_tile(shape_.rows, columns(lines), target_, true,
                                              std::numeric_limits<int64_t>::max(), together ? lines : 1);
      const auto groups = static_cast<double>(ceil_of(shape_.lines, lines));
      const auto vectors = static_cast<double>(vectors_of(lines, tile));
      const auto rows = static_cast<double>(shape_.rows), steps = static_cast<double>(depth());
      // A group reads the left side once; gathering loads and stores, in the nearest cache or beyond.
      constexpr double bytes_per_cycle = 16, near_cycles = 1.25, far_cycles = 2, line_cycles = 2;
      constexpr double apart = 2;  // elements of a vector that do not lie side by side
      const int64_t left = shape_.rows * block_depth() * element_bytes;
      const bool near = (lines + shape_.reach_lines) * line_bytes + left <= first_cache_;
      const double waits =
          plan_.layout == Layout::lines ? static_cast<double>(shape_.lines) * tile.last_waits : 0;
      const double multiply = (vectors * rows / std::max(1, target_.fma_ports) + waits) * steps;
      const double read = near ? 0 : groups * rows * steps * element_bytes / bytes_per_cycle;
      const double per_vector = (near ? near_cycles : far_cycles) * (shape_.stride == 1 ? 1 : apart);
      const double per_line = per_vector * static_cast<double>(ceil_of(pitch(), lanes_)) + line_cycles;
      const double gather = groups * static_cast<double>(lines + shape_.reach_lines) *
                            static_cast<double>(matrix_rows(depth())) * per_line;
      const double parts =
          plan_.depth_block == 0 ? 0 : static_cast<double>(ceil_of(shape_.first, plan_.depth_block));
      const double passes = (plan_.layout == Layout::joined ? 2 : 0) + 2 * parts;  // of sums that wait
      const double share = plan_.spread == GatheredPlan::Spread::groups
                               ? balance(ceil_of(shape_.lines, lines), target_.cores)
                               : 1;
      const double cycles = (multiply + read + gather + passes * vectors * rows) / share;
      if (cycles_ == 0 || cycles <= cycles_) {
        cycles_ = cycles;
        plan_.lines = lines;
        plan_.tile = tile;
        plan_.lines_of_last_tile = tile.last_together;
      }
    }
  }

  const GatheredForm& form_;
  const GatheredShape shape_;
  const jit::Target& target_;
  const int64_t lanes_;
  int64_t first_cache_ = 0, second_ = 0;  ///< bytes
  GatheredPlan plan_;
  double cycles_ = 0;
};

}  // namespace

bool is_shared(const GatheredForm& form, const GatheredPlan& plan, size_t k) {
  if (plan.layout == Layout::terms || form.shifts.empty() || !form.shifts[k].any()) return false;
  return form.shifts[k].stride == 1 || plan.in_order || k >= plan.unrolling.first;
}

int64_t phases(const GatheredForm& form, const GatheredPlan& plan, size_t k) {
  if (!is_shared(form, plan, k) || plan.in_order) return 1;
  return std::min(form.shifts[k].stride, form.sum->reduce_axes[k].extent.value());
}

Reaches reaches(const GatheredForm& form, const GatheredPlan& plan, const std::vector<int64_t>& phase) {
  Reaches all;
  for (size_t k = 0; k < form.shifts.size(); ++k) {
    if (!is_shared(form, plan, k)) continue;
    const GatheredForm::Shift& shift = form.shifts[k];
    Reach& reach = shift.places != 0 ? all.places : all.lines;
    const int64_t last = form.sum->reduce_axes[k].extent.value() - 1 - (phase.empty() ? 0 : phase[k]);
    const int64_t step = shift.lines + shift.places;
    if (plan.in_order) reach.stride = shift.stride;
    reach.beyond += plan.in_order ? last * step : last / shift.stride * step;
  }
  return all;
}

std::vector<GatheredPlan> gathered_plans(const PieceContext& context, const GatheredForm& form) {
  const ir::Stage& sum = *form.sum;
  const auto extent = [&](int axis) {
    return context.facts.typical(sum.axes[static_cast<size_t>(axis)].extent);
  };
  GatheredShape shape;
  shape.rows = extent(form.row);
  shape.lines = extent(form.line);
  shape.width = extent(form.place);
  shape.first = sum.reduce_axes[0].extent.value();
  for (size_t k = 1; k < sum.reduce_axes.size(); ++k) shape.inner *= sum.reduce_axes[k].extent.value();
  int64_t outer = 1;
  for (const int axis : form.outer) outer *= extent(axis);

  GatheredPlan::Spread spread = GatheredPlan::Spread::none;
  const double flops = 2.0 * static_cast<double>(shape.rows * shape.lines) *
                       static_cast<double>(shape.width * shape.first) *
                       static_cast<double>(shape.inner * outer);
  if (is_worth_spreading(flops, context.target)) {
    constexpr double good = 0.8;
    bool by_outer = !form.outer.empty() && extent(form.outer[0]) > 1;
    if (by_outer) {
      const ir::Dim& first = sum.axes[static_cast<size_t>(form.outer[0])].extent;
      by_outer = balance_of_axis(context.facts, first, 1, context.target.cores) >= good;
    }
    spread = by_outer ? GatheredPlan::Spread::outer : GatheredPlan::Spread::groups;
  }

  for (const GatheredForm::Shift& shift : form.shifts) {
    if (shift.places != 0) shape.stride = shift.stride;
  }
  GatheredPlan plan;
  plan.spread = spread;
  plan.unrolling = unrolling_of(sum);
  const bool copied = form.epilogue != nullptr && is_long(context.program, *form.epilogue);
  std::vector<PlannedGathered> all;
  const auto consider = [&](Layout layout) {
    plan.layout = layout;
    const GatheredPlanner planner(context, form, shape, plan);
    all.push_back({planner.plan(), planner.cycles()});
    all.back().plan.copied = copied;
  };
  consider(Layout::terms);
  plan.layout = Layout::lines;
  for (size_t k = 0; k < form.shifts.size(); ++k) {
    if (!is_shared(form, plan, k)) continue;
    shape.taps *= sum.reduce_axes[k].extent.value();
    shape.phases *= phases(form, plan, k);
  }
  const Reaches reach = reaches(form, plan);
  shape.reach_lines = reach.lines.beyond;
  shape.reach_places = reach.places.beyond;
  if (shape.taps > 1) {
    consider(Layout::joined);
    consider(Layout::lines);
  }
  const auto across =
      plans_across(context.target, context.facts, form, is_worth_spreading(flops, context.target));
  all.insert(all.end(), across.begin(), across.end());
  std::stable_sort(all.begin(), all.end(),
                   [](const PlannedGathered& a, const PlannedGathered& b) { return a.cycles < b.cycles; });
  // What is expected to take so much longer is not worth measuring.
  constexpr double much = 1.25;
  constexpr size_t most = 4;
  std::vector<GatheredPlan> plans;
  for (const PlannedGathered& one : all)
    if (plans.size() < most && one.cycles < much * all[0].cycles) plans.push_back(one.plan);
  return plans;
}

}  // namespace axrun::search
