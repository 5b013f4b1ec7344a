#include "search/map.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "search/axis_cuts.h"
#include "search/scalar_cost.h"
#include "search/work.h"

namespace axrun::search {

using ir::Dim;
using ir::Dims;
using ir::loop::Combine;
using ir::loop::LoopKind;

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

/// Few parts, and none of the last axis that is shorter than a register.
std::vector<std::vector<Dim>> plan_cuts(const PieceContext& context, const ir::Stage& stage) {
  const std::vector<AxisCondition> conditions = axis_conditions(context.program, stage);
  std::vector<std::vector<Dim>> cuts(stage.axes.size());
  constexpr size_t most_parts = 32;
  size_t parts = 1;
  for (size_t axis = 0; axis < stage.axes.size(); ++axis) {
    const Dim& extent = stage.axes[axis].extent;
    std::vector<Dim> found = cuts_of(conditions, static_cast<int>(axis), extent);
    if (axis + 1 == stage.axes.size()) {
      Dim low = 0;
      std::vector<Dim> ends = found;
      ends.push_back(extent);
      for (const Dim& high : ends) {
        if (context.facts.typical(high - low) < context.target.lanes(4)) found.clear();
        low = high;
      }
    }
    if (parts * (found.size() + 1) > most_parts) continue;
    parts *= found.size() + 1;
    cuts[axis] = std::move(found);
  }
  return cuts;
}

/// Writes one map, part by part.
class Writer {
 public:
  Writer(PieceContext& context, const ir::Stage& stage, const MapPlan& plan)
      : context_(context),
        stage_(stage),
        plan_(plan),
        result_(context.buffers.at(stage.results[0])),
        conditions_(axis_conditions(context.program, stage)),
        point_(stage.axes.size(), Dim(0)) {
    for (size_t axis = 0; axis < stage.axes.size(); ++axis) order_.push_back(axis);
    if (plan.tiles_outside) move_outside(order_.size() - 1);
    if (plan.parallel_axis >= 0) move_outside(static_cast<size_t>(plan.parallel_axis));
  }

  void run() { parts(0, {}); }

 private:
  struct Part {
    Dim low, high;
  };

  void move_outside(size_t axis) {
    const auto place = std::find(order_.begin(), order_.end(), axis);
    std::rotate(order_.begin(), place, place + 1);
  }

  void parts(size_t axis, const std::map<ir::ExprId, bool>& known) {
    if (axis == stage_.axes.size()) {
      context_.values.assume(known);
      loops(0);
      return context_.values.assume({});
    }
    std::vector<Dim> ends = plan_.cuts[axis];
    ends.push_back(stage_.axes[axis].extent);
    Dim low = 0;
    for (const Dim& high : ends) {
      part_.resize(axis);
      part_.push_back({low, high});
      std::map<ir::ExprId, bool> more = decided(conditions_, static_cast<int>(axis), low, high);
      more.insert(known.begin(), known.end());
      parts(axis + 1, more);
      low = high;
    }
  }

  void loops(size_t k) {
    if (k == order_.size()) return stage_.axes.empty() ? element() : lanes();
    const size_t axis = order_[k];
    const LoopKind kind = k == 0 && plan_.parallel_axis >= 0 ? LoopKind::parallel : LoopKind::sequential;
    const Part part = part_[axis];
    const bool tiled = axis + 1 == stage_.axes.size();
    const Dim extent = part.high - part.low;
    context_.writer.loop(kind, "i" + std::to_string(axis),
                         tiled ? ceil_div(extent, Dim(plan_.lanes)) : extent, [&](const Dim& i) {
                           point_[axis] = part.low + (tiled ? Dim(plan_.lanes) * i : i);
                           loops(k + 1);
                         });
  }

  void lanes() {
    const Part part = part_.back();
    const Dim start = point_.back(), lanes(plan_.lanes);
    const bool whole = context_.facts.is_multiple(part.high - part.low, plan_.lanes);
    context_.writer.loop(LoopKind::vector, "v", whole ? lanes : min(lanes, part.high - start),
                         [&](const Dim& v) {
                           point_.back() = start + v;
                           element();
                         });
    point_.back() = start;
  }

  void element() {
    context_.writer.store({result_, element_at(stage_, point_)}, Combine::assign,
                          context_.values.value(stage_.body[0], point_), stage_.name, point_);
  }

  PieceContext& context_;
  const ir::Stage& stage_;
  const MapPlan& plan_;
  const int result_;
  const std::vector<AxisCondition> conditions_;
  std::vector<size_t> order_;  ///< of the axes, outermost first
  std::vector<Part> part_;     ///< per axis
  Dims point_;
};

}  // namespace

MapPlan plan_map(const PieceContext& context, const ir::Stage& stage) {
  MapPlan plan;
  if (stage.axes.empty()) return plan;
  const auto typical = [&](size_t axis) { return context.facts.typical(stage.axes[axis].extent); };
  const size_t last = stage.axes.size() - 1;
  const int64_t registers = context.target.lanes(4);
  constexpr int64_t chains = 4;
  plan.lanes = registers * std::clamp<int64_t>((typical(last) + registers - 1) / registers, 1, chains);

  plan.tiles_outside = reads_across_rows(context, stage);
  plan.cuts = plan_cuts(context, stage);

  constexpr double overhead = 2;  // loads and stores, in operations
  double work = overhead + scalar_cost(context.program, stage.body[0]);
  for (size_t axis = 0; axis <= last; ++axis) work *= static_cast<double>(typical(axis));
  if (!is_worth_spreading(2 * work, context.target)) return plan;
  double best = 0;
  for (size_t axis = 0; axis <= last; ++axis) {
    const int64_t count = axis == last ? (typical(axis) + plan.lanes - 1) / plan.lanes : typical(axis);
    if (count < 2 || balance(count, context.target.cores) < best + 0.1) continue;
    best = balance(count, context.target.cores);
    plan.parallel_axis = static_cast<int>(axis);
  }
  return plan;
}

void write_map(PieceContext& context, const ir::Stage& stage, const MapPlan& plan) {
  Writer(context, stage, plan).run();
}

}  // namespace axrun::search
