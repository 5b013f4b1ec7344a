#include "search/map.h"

#include <algorithm>
#include <functional>

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
  LoopWriter& writer = context.writer;
  const int result = context.buffers.at(stage.results[0]);
  Dims point(stage.axes.size(), Dim(0));
  std::vector<size_t> order;
  for (size_t axis = 0; axis < stage.axes.size(); ++axis) order.push_back(axis);
  const auto move_outside = [&](size_t axis) {
    const auto place = std::find(order.begin(), order.end(), axis);
    std::rotate(order.begin(), place, place + 1);
  };
  if (plan.tiles_outside) move_outside(order.size() - 1);
  if (plan.parallel_axis >= 0) move_outside(static_cast<size_t>(plan.parallel_axis));
  const auto element = [&] {
    writer.store({result, element_at(stage, point)}, Combine::assign,
                 context.values.value(stage.body[0], point), stage.name, point);
  };
  const size_t last = stage.axes.size() - 1;
  const auto lanes = [&] {
    const Dim start = point[last], extent = stage.axes[last].extent;
    const bool whole = context.facts.is_multiple(extent, plan.lanes);
    writer.loop(LoopKind::vector, "v", whole ? Dim(plan.lanes) : min(Dim(plan.lanes), extent - start),
                [&](const Dim& v) {
                  point[last] = start + v;
                  element();
                });
    point[last] = start;
  };
  const std::function<void(size_t)> loops = [&](size_t k) {
    if (k == order.size()) return lanes();
    const size_t axis = order[k];
    const LoopKind kind = k == 0 && plan.parallel_axis >= 0 ? LoopKind::parallel : LoopKind::sequential;
    const Dim extent = stage.axes[axis].extent;
    writer.loop(kind, "i" + std::to_string(axis), axis == last ? ceil_div(extent, Dim(plan.lanes)) : extent,
                [&](const Dim& i) {
                  point[axis] = axis == last ? Dim(plan.lanes) * i : i;
                  loops(k + 1);
                });
  };
  if (stage.axes.empty()) return element();
  loops(0);
}

}  // namespace axrun::search
