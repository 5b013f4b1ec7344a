#include "search/map.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "search/axis_cuts.h"

namespace axrun::search {

using ir::Dim;
using ir::Dims;
using ir::loop::Combine;
using ir::loop::LoopKind;

namespace {

/// Writes one map, part by part.
class MapWriter {
 public:
  MapWriter(PieceContext& context, const ir::Stage& stage, const MapPlan& plan)
      : context_(context),
        stage_(stage),
        plan_(plan),
        result_(context.buffers.at(stage.results[0])),
        conditions_(axis_conditions(context.program, stage)),
        point_(stage.axes.size(), Dim(0)) {
    const int across = plan.transposition.across;
    for (size_t axis = 0; axis < stage.axes.size(); ++axis) {
      if (static_cast<int>(axis) == across) continue;
      order_.push_back({axis, axis == plan.lane_axis ? Pass::tiles : Pass::points});
    }
    if (plan.tiles_outside) move_outside(plan.lane_axis);
    if (across != ir::none) {
      // Neighbouring tiles continue the same rows of the result, those of a group of tiles.
      const auto axis = static_cast<size_t>(across);
      order_.insert(order_.end() - 1, {axis, plan.tile_group == 1 ? Pass::tiles : Pass::groups});
      if (plan.tile_group != 1) order_.push_back({axis, Pass::tiles_of_group});
    }
    if (plan.parallel_axis >= 0) move_outside(static_cast<size_t>(plan.parallel_axis));
  }

  void run() { parts(0, {}); }

 private:
  struct Part {
    Dim low, high;
  };
  /// How a loop passes an axis.
  enum class Pass : uint8_t { points, tiles, groups, tiles_of_group };
  struct Step {
    size_t axis;
    Pass pass;
  };

  void move_outside(size_t axis) {
    const auto place =
        std::find_if(order_.begin(), order_.end(), [&](const Step& step) { return step.axis == axis; });
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
    if (k == order_.size()) {
      if (stage_.axes.empty()) return element();
      return plan_.transposition.across == ir::none ? lanes() : tile();
    }
    const auto [axis, pass] = order_[k];
    const Dim low = part_[axis].low, extent = part_[axis].high - low;
    const Dim tiles = ceil_div(extent, Dim(plan_.lanes)), group(plan_.tile_group);
    const Dim start = point_[axis];
    const auto loop = [&, axis = axis](const Dim& count, const Dim& from, int64_t step) {
      LoopKind kind = k == 0 && plan_.parallel_axis >= 0 ? LoopKind::parallel : LoopKind::sequential;
      // What is read across rows in one tile is read from the same vectors.
      constexpr int64_t few = 4;
      const bool inside = plan_.tiles_outside && k != 0 && k + 1 == order_.size();
      // And what is read for all elements of a short axis is read once.
      const bool is_short = k != 0 && axis > plan_.lane_axis;
      if ((inside || is_short) && count.is_constant() && count.value() <= few) kind = LoopKind::unrolled;
      context_.writer.loop(kind, "i" + std::to_string(axis), count, [&](const Dim& i) {
        point_[axis] = from + Dim(step) * i;
        loops(k + 1);
      });
    };
    switch (pass) {
      case Pass::points:
        return loop(extent, low, 1);
      case Pass::tiles:
        return loop(tiles, low, plan_.lanes);
      case Pass::groups:
        return loop(ceil_div(tiles, group), low, plan_.lanes * plan_.tile_group);
      case Pass::tiles_of_group:
        loop(context_.facts.is_multiple(extent, plan_.lanes * plan_.tile_group)
                 ? group
                 : min(group, ceil_div(part_[axis].high - start, Dim(plan_.lanes))),
             start, plan_.lanes);
        point_[axis] = start;
    }
  }

  void tile() {
    const auto across = static_cast<size_t>(plan_.transposition.across);
    const std::vector<ir::ExprId>& rows = plan_.transposition.rows;
    const Dim first_row = point_.back(), first_column = point_[across];
    const auto move_to = [&](const Dim& row, const Dim& column) {
      point_.back() = first_row + row;
      point_[across] = first_column + column;
    };
    const Dim rows_here = lanes_of(part_.back(), first_row),
              columns_here = lanes_of(part_[across], first_column);
    const TransposedTile tile{most(rows_here), most(columns_here), rows_here, columns_here};
    std::vector<ir::ElementType> types;
    for (const ir::ExprId row : rows) types.push_back(context_.program.exprs[static_cast<size_t>(row)].type);
    write_transposed(
        context_.writer, tile, "tile_" + stage_.name, types,
        [&](size_t n, const Dim& row, const Dim& column) {
          move_to(row, column);
          return context_.values.value(rows[n], point_);
        },
        [&](const Dim& row, const Dim& column, const std::vector<ir::loop::Access>& values) {
          move_to(row, column);
          for (size_t n = 0; n < rows.size(); ++n)
            context_.values.take_value(rows[n], [value = values[n]] { return value; });
          element();
          context_.values.clear_values();
        });
    move_to(0, 0);
  }

  /// How much of a group of lanes that starts at `start` is in the part.
  Dim lanes_of(const Part& part, const Dim& start) const {
    const bool whole = context_.facts.is_multiple(part.high - part.low, plan_.lanes);
    return whole ? Dim(plan_.lanes) : min(Dim(plan_.lanes), part.high - start);
  }
  int64_t most(const Dim& extent) const { return extent.constant().value_or(plan_.lanes); }

  void lanes() {
    Dim& place = point_[plan_.lane_axis];
    const Part& part = part_[plan_.lane_axis];
    const Dim start = place;
    context_.writer.loop(LoopKind::vector, "v", lanes_of(part, start), [&](const Dim& v) {
      place = start + v;
      element();
    });
    place = start;
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
  std::vector<Step> order_;  ///< outermost first
  std::vector<Part> part_;   ///< per axis
  Dims point_;
};

}  // namespace

void write_map(PieceContext& context, const ir::Stage& stage, const MapPlan& plan) {
  MapWriter(context, stage, plan).run();
}

}  // namespace axrun::search
