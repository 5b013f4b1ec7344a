#include "search/rows.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "ir/error.h"
#include "ir/linear.h"
#include "ir/types.h"
#include "search/monoid_values.h"
#include "search/uniform_parts.h"

namespace axrun::search {

using ir::Dim;
using ir::Dims;
using ir::ElementType;
using ir::Expr;
using ir::ExprId;
using ir::Stage;
using ir::TensorId;
using ir::loop::Access;
using ir::loop::Combine;
using ir::loop::Level;
using ir::loop::LoopKind;

namespace {

class RowsWriter {
 public:
  RowsWriter(PieceContext& context, const RowsForm& form, const RowsPlan& plan)
      : context_(context), form_(form), plan_(plan), w_(context.writer), row_(form.rows.size(), Dim(0)) {
    const RowsForm::Member& any = form.members.front();
    for (const int axis : any.rows) part_.push_back(part_of(context, *any.stage, axis));
  }

  void run() {
    std::vector<size_t> order;
    for (size_t axis = 0; axis < form_.rows.size(); ++axis) order.push_back(axis);
    if (plan_.parallel_axis > 0) {
      std::rotate(order.begin(), order.begin() + plan_.parallel_axis,
                  order.begin() + plan_.parallel_axis + 1);
    }
    rows(order, 0);
  }

 private:
  using Member = RowsForm::Member;
  using Body = std::function<void()>;

  void rows(const std::vector<size_t>& order, size_t k) {
    if (k == order.size()) {
      for (size_t m = 0; m < form_.members.size(); ++m) {
        if (m + 1 < form_.members.size() && reduces_at_once(form_.members[m], form_.members[m + 1])) {
          map_and_reduce(form_.members[m], form_.members[m + 1]);
          ++m;
        } else {
          write(form_.members[m]);
        }
      }
      return;
    }
    const LoopKind kind = k == 0 && plan_.parallel_axis >= 0 ? LoopKind::parallel : LoopKind::sequential;
    const size_t axis = order[k];
    const int64_t tile = axis + 1 == form_.rows.size() ? rows_in_tile() : 1;
    w_.loop(kind, "i" + std::to_string(axis), part_[axis].tiles(tile, context_.facts), [&](const Dim& i) {
      row_[axis] = part_[axis].first + Dim(tile) * i;
      rows(order, k + 1);
    });
  }

  int64_t rows_in_tile() const { return plan_.lanes_along_rows ? plan_.lanes : plan_.rows_at_once; }
  /// Whether what belongs to a row has a place for each row of a tile.
  bool has_tiles() const { return rows_in_tile() > 1; }

  /// What exists of a tile at `start` of an axis.
  Dim part_of_lanes(const Dim& extent, const Dim& start) const {
    const bool whole = context_.facts.is_multiple(extent, plan_.lanes);
    return whole ? Dim(plan_.lanes) : min(Dim(plan_.lanes), extent - start);
  }
  Dim rows_here() const {
    const AxisPart& part = part_.back();
    const Dim tile(rows_in_tile());
    return part.has_whole_tiles(rows_in_tile(), context_.facts)
               ? tile
               : min(tile, part.rest - (row_.back() - part.first));
  }

  /// What is done once for a row: for all rows of a tile.
  void for_row(const Body& body) {
    if (!has_tiles()) return body();
    const Dim start = row_.back();
    const LoopKind kind = plan_.lanes_along_rows ? LoopKind::vector : LoopKind::unrolled;
    w_.loop(kind, plan_.lanes_along_rows ? "v" : "r", rows_here(), [&](const Dim& r) {
      row_.back() = start + r;
      place_in_tile_ = r;
      body();
    });
    row_.back() = start;
  }

  /// The lanes that a row is folded to at first.
  void for_lanes(const Body& body) {
    for_row([&] {
      w_.loop(LoopKind::vector, "z", Dim(plan_.lanes), [&](const Dim& z) {
        lane_ = z;
        body();
      });
    });
  }

  /// What is done for every column of a row.
  void for_columns(const Member& member, const Body& body) {
    point_.assign(member.stage->axes.size() + member.stage->reduce_axes.size(), Dim(0));
    columns(member, 0, body);
  }

  void columns(const Member& member, size_t k, const Body& body) {
    if (k == member.columns.size()) {
      return for_row([&] {
        set_rows(member, point_);
        body();
      });
    }
    const auto axis = static_cast<size_t>(member.columns[k]);
    const size_t axes = member.stage->axes.size();
    const Dim extent =
        axis < axes ? member.stage->axes[axis].extent : member.stage->reduce_axes[axis - axes].extent;
    const std::string name = "c" + std::to_string(k);
    if (plan_.lanes_along_rows || k + 1 < member.columns.size()) {
      return w_.loop(LoopKind::sequential, name, extent, [&](const Dim& c) {
        point_[axis] = c;
        columns(member, k + 1, body);
      });
    }
    w_.loop(LoopKind::sequential, name, ceil_div(extent, Dim(plan_.lanes)), [&](const Dim& c) {
      const Dim start = Dim(plan_.lanes) * c;
      for_row([&] {
        set_rows(member, point_);
        w_.loop(LoopKind::vector, "v", part_of_lanes(extent, start), [&](const Dim& v) {
          point_[axis] = start + v;
          lane_ = v;
          body();
        });
      });
    });
  }

  void set_rows(const Member& member, Dims& point) const {
    for (size_t g = 0; g < row_.size(); ++g) point[static_cast<size_t>(member.rows[g])] = row_[g];
  }

  // --- values of a row ---

  Dims row_value_dims() const { return has_tiles() ? Dims{Dim(rows_in_tile())} : Dims{}; }
  Access row_value(int buffer) const { return {buffer, has_tiles() ? Dims{place_in_tile_} : Dims{}}; }

  /// For every row as many partial results as a vector loop has lanes.
  int allocate_partial(const Stage& stage, ElementType type) {
    Dims dims = row_value_dims();
    dims.emplace_back(plan_.lanes);
    return w_.allocate("p_" + stage.name, type, dims, Level::registers);
  }
  Access partial_value(int buffer) const {
    Access access = row_value(buffer);
    access.indices.push_back(lane_);
    return access;
  }
  void fold(int partial, int result, Combine combine) {
    for_lanes([&] { w_.store(row_value(result), combine, w_.load(partial_value(partial))); });
  }

  ElementType type_of(const Member& member) const {
    return context_.program.tensors[static_cast<size_t>(member.stage->results[0])].type;
  }

  void write(const Member& member) {
    hoist(member);
    if (member.stage->kind == ir::StageKind::reduce) {
      reduce(member);
    } else if (member.columns.empty()) {
      map_of_row(member);
    } else {
      map_of_columns(member);
    }
    context_.values.clear_values();
  }

  /// Costly parts of the body that are the same for a whole row are computed before its columns.
  void hoist(const Member& member) {
    if (member.columns.empty()) return;
    for (const ExprId id : hoisted(member)) {
      const Expr& expr = context_.program.exprs[static_cast<size_t>(id)];
      const int buffer =
          w_.allocate("h_" + member.stage->name, expr.type, row_value_dims(), Level::registers);
      for_row([&] {
        Dims point(member.stage->axes.size() + member.stage->reduce_axes.size(), Dim(0));
        set_rows(member, point);
        w_.store(row_value(buffer), Combine::assign, context_.values.value(id, point));
      });
      context_.values.take_value(id, [this, buffer] { return row_value(buffer); });
    }
  }

  /// The largest parts of a body that cost something and depend on the row only.
  std::vector<ExprId> hoisted(const Member& member) const {
    return uniform_parts(context_.program, member.stage->body[0],
                         {member.columns.begin(), member.columns.end()}, 1);
  }

  void reduce(const Member& member) {
    const Stage& stage = *member.stage;
    const ElementType type = type_of(member);
    const ir::Monoid::Kind kind = stage.monoid.kind;
    const int result = w_.allocate("r_" + stage.name, type, row_value_dims(), Level::registers);
    const int identity = identity_value(w_, kind, type);
    const auto start = [&] { for_row([&] { w_.store(row_value(result), Combine::assign, identity); }); };
    const auto accumulate = [&](const std::function<Access()>& target) {
      for_columns(member, [&] {
        w_.store(target(), combine_of(kind), context_.values.value(stage.body[0], point_), stage.name,
                 point_);
      });
    };
    if (plan_.lanes_along_rows || member.columns.empty()) {
      start();
      accumulate([&] { return row_value(result); });
    } else {
      const int partial = allocate_partial(stage, type);
      for_lanes([&] { w_.store(partial_value(partial), Combine::assign, identity); });
      accumulate([&] { return partial_value(partial); });
      start();
      fold(partial, result, combine_of(kind));
    }
    settle(member, result);
  }

  void map_of_row(const Member& member) {
    const Stage& stage = *member.stage;
    const int result = w_.allocate("r_" + stage.name, type_of(member), row_value_dims(), Level::registers);
    for_columns(member, [&] {
      w_.store(row_value(result), Combine::assign, context_.values.value(stage.body[0], point_), stage.name,
               point_);
    });
    settle(member, result);
  }

  /// The others read the row's value where it is; whoever is outside reads it in memory.
  void settle(const Member& member, int result) {
    const TensorId tensor = member.stage->results[0];
    context_.values.read_at(tensor, [this, result](const Dims&) { return row_value(result); });
    if (!is_stored(context_, tensor)) return;
    for_row([&] {
      Dims point(member.stage->axes.size(), Dim(0));
      set_rows(member, point);
      w_.store(result_at(context_, *member.stage, point), Combine::assign, w_.load(row_value(result)));
    });
  }

  /// A map whose elements the next member only adds up, say, in the same order: one pass over the row.
  bool reduces_at_once(const Member& map, const Member& reduction) const {
    if (map.stage->kind != ir::StageKind::map || reduction.stage->kind != ir::StageKind::reduce) return false;
    if (plan_.lanes_along_rows || map.columns.empty() || map.columns.size() != reduction.columns.size())
      return false;
    if (is_stored(context_, map.stage->results[0]) || !hoisted(reduction).empty()) return false;
    const size_t axes = reduction.stage->axes.size();
    for (size_t k = 0; k < map.columns.size(); ++k) {
      const auto axis = static_cast<size_t>(reduction.columns[k]);
      if (axis < axes || reduction.stage->reduce_axes[axis - axes].extent !=
                             map.stage->axes[static_cast<size_t>(map.columns[k])].extent)
        return false;
    }
    // The body is the map's element at the same place.
    const Expr& body = context_.program.exprs[static_cast<size_t>(reduction.stage->body[0])];
    if (body.op != ir::ScalarOp::load || body.integer != map.stage->results[0] || body.args[0] != ir::none)
      return false;
    for (size_t d = 0; d < body.indices.size(); ++d) {
      const Expr& index = context_.program.exprs[static_cast<size_t>(body.indices[d])];
      if (index.op != ir::ScalarOp::axis) return false;
      const auto at = static_cast<int>(index.integer);
      const auto row = std::find(map.rows.begin(), map.rows.end(), static_cast<int>(d));
      const auto column = std::find(map.columns.begin(), map.columns.end(), static_cast<int>(d));
      const bool same = row != map.rows.end()
                            ? reduction.rows[static_cast<size_t>(row - map.rows.begin())] == at
                            : column != map.columns.end() &&
                                  reduction.columns[static_cast<size_t>(column - map.columns.begin())] == at;
      if (!same) return false;
    }
    return true;
  }

  void map_and_reduce(const Member& map, const Member& reduction) {
    hoist(map);
    const Stage& stage = *reduction.stage;
    const ElementType type = type_of(reduction);
    const Combine combine = combine_of(stage.monoid.kind);
    const int identity = identity_value(w_, stage.monoid.kind, type);
    const Row row = row_of(map);
    const int partial = allocate_partial(stage, type);
    for_lanes([&] { w_.store(partial_value(partial), Combine::assign, identity); });
    for_columns(map, [&] {
      const Access element = place_of(row, map, point_);
      w_.store(element, Combine::assign, context_.values.value(map.stage->body[0], point_), map.stage->name,
               point_);
      Dims point(stage.axes.size() + stage.reduce_axes.size(), Dim(0));
      set_rows(reduction, point);
      for (size_t k = 0; k < map.columns.size(); ++k)
        point[static_cast<size_t>(reduction.columns[k])] = point_[static_cast<size_t>(map.columns[k])];
      w_.store(partial_value(partial), combine, w_.load(element), stage.name, point);
    });
    context_.values.clear_values();
    context_.values.read_at(map.stage->results[0],
                            [this, &map, row](const Dims& indices) { return place_of(row, map, indices); });
    const int result = w_.allocate("r_" + stage.name, type, row_value_dims(), Level::registers);
    for_row([&] { w_.store(row_value(result), Combine::assign, identity); });
    fold(partial, result, combine);
    settle(reduction, result);
    context_.values.clear_values();
  }

  /// Where the rows of a map's elements are that nobody outside reads.
  struct Row {
    int buffer = ir::none;
    const Member* last = nullptr;  ///< in the rows of this member's results
    std::vector<int> columns;      ///< of `last`, one for each of the map's
  };

  /// In the cache; or where the last member writes its own, if it replaces them one by one.
  Row row_of(const Member& member) {
    Row row = row_in_result(member);
    if (row.last != nullptr) return row;
    Dims dims;
    if (plan_.rows_at_once > 1) dims.emplace_back(plan_.rows_at_once);
    for (const int axis : member.columns)
      dims.push_back(member.stage->axes[static_cast<size_t>(axis)].extent);
    if (plan_.lanes_along_rows) dims.emplace_back(plan_.lanes);
    row.buffer = w_.allocate("row_" + member.stage->name, type_of(member), dims, Level::cache);
    return row;
  }

  Row row_in_result(const Member& member) {
    const Member& last = form_.members.back();
    if (&last == &member || last.stage->kind != ir::StageKind::map ||
        !is_stored(context_, last.stage->results[0]) || type_of(last) != type_of(member) ||
        last.columns.size() != member.columns.size())
      return {};
    const int result = result_at(context_, *last.stage, Dims(last.stage->axes.size(), Dim(0))).buffer;
    if (result == taken_result_) return {};
    // Lanes lie side by side there.
    const std::vector<int>& lanes = plan_.lanes_along_rows ? last.rows : last.columns;
    const std::vector<std::vector<int>>& groups = last.stage->groups;
    if (lanes.empty() || groups.empty() || groups.back().empty() || groups.back().back() != lanes.back())
      return {};
    Row row{result, nullptr, {}};
    for (const ExprId load : loads_of(context_.program, last.stage->body[0])) {
      const Expr& read = context_.program.exprs[static_cast<size_t>(load)];
      if (read.integer != member.stage->results[0]) continue;
      std::vector<int> columns;
      for (const int axis : member.columns) {
        const Expr& index =
            context_.program.exprs[static_cast<size_t>(read.indices[static_cast<size_t>(axis)])];
        if (index.op != ir::ScalarOp::axis) return {};
        const auto own = static_cast<int>(index.integer);
        if (std::count(last.columns.begin(), last.columns.end(), own) != 1 ||
            std::count(columns.begin(), columns.end(), own) != 0 ||
            last.stage->axes[static_cast<size_t>(own)].extent !=
                member.stage->axes[static_cast<size_t>(axis)].extent)
          return {};
        columns.push_back(own);
      }
      if (row.last != nullptr && columns != row.columns) return {};
      row.last = &last;
      row.columns = columns;
    }
    if (row.last != nullptr) taken_result_ = row.buffer;
    return row;
  }

  Access place_of(const Row& row, const Member& member, const Dims& indices) const {
    if (row.last != nullptr) {
      Dims point(row.last->stage->axes.size(), Dim(0));
      set_rows(*row.last, point);
      for (size_t k = 0; k < row.columns.size(); ++k)
        point[static_cast<size_t>(row.columns[k])] = indices[static_cast<size_t>(member.columns[k])];
      return result_at(context_, *row.last->stage, point);
    }
    Access access{row.buffer, {}};
    if (plan_.rows_at_once > 1) access.indices.push_back(place_in_tile_);
    for (const int axis : member.columns) access.indices.push_back(indices[static_cast<size_t>(axis)]);
    if (plan_.lanes_along_rows) access.indices.push_back(place_in_tile_);
    return access;
  }

  void map_of_columns(const Member& member) {
    const Stage& stage = *member.stage;
    const TensorId tensor = stage.results[0];
    const bool in_memory = is_stored(context_, tensor);
    const Row row = in_memory ? Row() : row_of(member);
    const auto place = [this, &member, row](const Dims& indices) { return place_of(row, member, indices); };
    for_columns(member, [&] {
      const Access target = in_memory ? result_at(context_, stage, point_) : place(point_);
      w_.store(target, Combine::assign, context_.values.value(stage.body[0], point_), stage.name, point_);
    });
    if (!in_memory) context_.values.read_at(tensor, place);
  }

  PieceContext& context_;
  const RowsForm& form_;
  const RowsPlan& plan_;
  LoopWriter& w_;
  std::vector<AxisPart> part_;   ///< of the rows, that is written
  Dims row_;                     ///< the row at hand
  Dim place_in_tile_;            ///< of that row
  Dims point_;                   ///< of the stage at hand
  Dim lane_;                     ///< of the vector loop at hand, along the columns
  int taken_result_ = ir::none;  ///< holds rows of another member until the last one replaces them
};

}  // namespace

void write_rows(PieceContext& context, const RowsForm& form, const RowsPlan& plan) {
  RowsWriter(context, form, plan).run();
}

}  // namespace axrun::search
