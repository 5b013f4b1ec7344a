#include "search/planes.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "search/monoid_values.h"
#include "search/uniform_parts.h"

namespace axrun::search {

using ir::Dim;
using ir::Dims;
using ir::ExprId;
using ir::Stage;
using ir::loop::Access;
using ir::loop::Combine;
using ir::loop::Level;
using ir::loop::LoopKind;

namespace {

class PlanesWriter {
 public:
  PlanesWriter(PieceContext& context, const WindowsForm& windows, const PlanesPlan& plan)
      : context_(context),
        program_(context.program),
        windows_(windows),
        stage_(*windows.reduction),
        plan_(plan),
        form_(plan.form),
        w_(context.writer),
        values_(context.values),
        lanes_(context.target.lanes(4)),
        planes_(extent(form_.plane)),
        whole_(context.facts.is_multiple(planes_, lanes_)),
        source_(context.buffers.at(form_.operand)),
        result_(context.buffers.at(windows.last().results[0])),
        type_(program_.tensors[static_cast<size_t>(stage_.results[0])].type),
        point_(stage_.axes.size() + stage_.reduce_axes.size(), Dim(0)) {}

  void run() {
    values_.clear_values();
    if (!form_.factors.empty()) w_.at_beginning([&] { prepare(); });
    std::vector<int> outer = form_.outer;
    outer.push_back(form_.plane);
    if (plan_.spread_axis != ir::none) {
      const auto place = std::find(outer.begin(), outer.end(), plan_.spread_axis);
      std::rotate(outer.begin(), place, place + 1);
    }
    for_outer(outer, 0);
    values_.clear_values();
  }

 private:
  using Body = std::function<void()>;

  Dim extent(int axis) const { return stage_.axes[static_cast<size_t>(axis)].extent; }
  Dim& coordinate(int axis) { return point_[static_cast<size_t>(axis)]; }
  Dim blocks() const { return ceil_div(planes_, Dim(lanes_)); }

  void for_outer(const std::vector<int>& outer, size_t k) {
    if (k == outer.size()) return one_block();
    const LoopKind kind = k == 0 && plan_.spread_axis != ir::none ? LoopKind::parallel : LoopKind::sequential;
    const bool blocked = outer[k] == form_.plane;
    w_.loop(kind, "o" + std::to_string(k), blocked ? blocks() : extent(outer[k]), [&](const Dim& o) {
      (blocked ? block_ : coordinate(outer[k])) = o;
      for_outer(outer, k + 1);
    });
  }

  // --- planes of a block ---

  Dim first_plane() const { return Dim(lanes_) * block_; }
  Dim planes_of_block() const { return whole_ ? Dim(lanes_) : min(Dim(lanes_), planes_ - first_plane()); }

  void across(const std::function<void(const Dim& lane)>& body) {
    w_.loop(LoopKind::vector, "p", planes_of_block(), [&](const Dim& lane) {
      coordinate(form_.plane) = first_plane() + lane;
      body(lane);
    });
  }
  void one_by_one(const std::function<void(const Dim& plane)>& body) {
    w_.loop(LoopKind::unrolled, "p1", planes_of_block(), [&](const Dim& plane) {
      coordinate(form_.plane) = first_plane() + plane;
      body(plane);
    });
  }

  void for_taps(LoopKind kind, const WindowMove& move, const std::string& name, const Body& body) {
    w_.loop(kind, name, Dim(move.taps), [&](const Dim& k) {
      coordinate(move.tap_axis) = k;
      body();
    });
  }

  /// Taps of a point that are inside.
  void for_taps_inside(const WindowMove& move, const std::string& name, const Body& body) {
    const Dim o = coordinate(move.axis);
    w_.loop(LoopKind::unrolled, name, move.count(o), [&](const Dim& k) {
      coordinate(move.tap_axis) = move.first(o) + k;
      body();
    });
  }

  void assume_guards(bool inside) {
    std::map<ExprId, bool> known;
    for (const ExprId guard : form_.guards) known[guard] = inside;
    values_.assume(std::move(known));
  }

  // --- what depends on constants only ---

  /// The factors with lanes across planes; and for each point the sum of what taps outside contribute: zeros
  /// times factors, which matter where a factor is infinite or NaN.
  void prepare() {
    const Dim rows(form_.row.taps), columns(form_.column.taps);
    for (const ExprId factor : form_.factors) {
      const int packed =
          w_.allocate("factors_" + stage_.name, program_.exprs[static_cast<size_t>(factor)].type,
                      {blocks(), rows, columns, Dim(lanes_)}, Level::memory);
      w_.loop(LoopKind::sequential, "b", blocks(), [&](const Dim& b) {
        block_ = b;
        for_taps(LoopKind::sequential, form_.row, "k0", [&] {
          for_taps(LoopKind::sequential, form_.column, "k1", [&] {
            across([&](const Dim& lane) {
              w_.store(packed_at(packed, lane), Combine::assign, values_.value(factor, point_));
            });
          });
        });
      });
      packed_.emplace_back(factor, packed);
    }
    if (form_.guards.empty()) return;
    border_ =
        w_.allocate("border_" + stage_.name, type_,
                    {blocks(), Dim(form_.row.length), Dim(form_.column.length), Dim(lanes_)}, Level::memory);
    w_.loop(LoopKind::sequential, "b", blocks(), [&](const Dim& b) {
      block_ = b;
      w_.loop(LoopKind::sequential, "o0", Dim(form_.row.length), [&](const Dim& o0) {
        w_.loop(LoopKind::sequential, "o1", Dim(form_.column.length), [&](const Dim& o1) {
          coordinate(form_.row.axis) = o0;
          coordinate(form_.column.axis) = o1;
          add_border();
        });
      });
    });
  }

  void add_border() {
    const int zero = w_.real(0, type_);
    across([&](const Dim& lane) { w_.store(border_at(lane), Combine::assign, zero); });
    for_taps(LoopKind::sequential, form_.row, "k0", [&] {
      for_taps(LoopKind::sequential, form_.column, "k1", [&] {
        int inside = values_.value(form_.guards[0], point_);
        for (size_t k = 1; k < form_.guards.size(); ++k)
          inside = w_.operation(ir::ScalarOp::logical_and, ir::ElementType::boolean,
                                {inside, values_.value(form_.guards[k], point_)});
        assume_guards(false);
        across([&](const Dim& lane) {
          const int outside = values_.value(stage_.body[0], point_);
          w_.store(border_at(lane), Combine::add,
                   w_.operation(ir::ScalarOp::select, type_, {inside, zero, outside}));
        });
        values_.assume({});
      });
    });
  }

  Access packed_at(int packed, const Dim& lane) {
    return {packed, {block_, coordinate(form_.row.tap_axis), coordinate(form_.column.tap_axis), lane}};
  }
  Access border_at(const Dim& lane) {
    return {border_, {block_, coordinate(form_.row.axis), coordinate(form_.column.axis), lane}};
  }

  // --- a block ---

  void one_block() {
    planes_read_ = w_.allocate("planes_" + stage_.name, type_,
                               {Dim(form_.row.extent * form_.column.extent), Dim(lanes_)}, Level::cache);
    read_planes();
    hoist();
    for (int64_t row = 0; row < form_.row.length; row += plan_.rows)
      rows_of_block(row, std::min(plan_.rows, form_.row.length - row));
  }

  /// Rows of the operand, plane by plane, become places with lanes across planes.
  void read_planes() {
    const int64_t whole = form_.row.extent / plan_.read_rows;
    const auto part = [&](const Dim& row, int64_t rows) {
      const Dim width(form_.column.extent);
      const Dim places = Dim(rows) * width;
      const int square = w_.allocate("read_" + stage_.name, type_, {Dim(lanes_), places}, Level::registers);
      one_by_one([&](const Dim& plane) {
        w_.loop(LoopKind::vector, "q", places, [&](const Dim& q) {
          w_.store({square, {plane, q}}, Combine::assign,
                   w_.load({source_, operand_at(row + floor_div(q, width), floor_mod(q, width))}));
        });
      });
      w_.loop(LoopKind::unrolled, "q1", places, [&](const Dim& q) {
        across([&](const Dim& lane) {
          w_.store({planes_read_, {row * width + q, lane}}, Combine::assign, w_.load({square, {lane, q}}));
        });
      });
    };
    w_.loop(LoopKind::sequential, "h", Dim(whole),
            [&](const Dim& h) { part(Dim(plan_.read_rows) * h, plan_.read_rows); });
    if (form_.row.extent % plan_.read_rows != 0)
      part(whole * plan_.read_rows, form_.row.extent % plan_.read_rows);
  }

  Dims operand_at(const Dim& row, const Dim& column) {
    Dims indices;
    for (const ExprId load : loads_of(program_, stage_.body[0])) {
      const ir::Expr& expr = program_.exprs[static_cast<size_t>(load)];
      if (static_cast<ir::TensorId>(expr.integer) != form_.operand) continue;
      indices.clear();
      for (size_t d = 0; d + 2 < expr.indices.size(); ++d)
        indices.push_back(*index_at(program_, expr.indices[d], point_));
    }
    indices.push_back(row);
    indices.push_back(column);
    return indices;
  }

  /// What the epilogue has in common for all points of a plane, where it costs something.
  void hoist() {
    values_.clear_values();
    for (const auto& [factor, packed] : packed_) {
      const int buffer = packed;
      values_.take_value(factor, [this, buffer] { return packed_at(buffer, lane_); });
    }
    if (windows_.epilogue == nullptr) return;
    std::set<int> varying;
    for (size_t k = 0; k < windows_.epilogue_axes.size(); ++k) {
      const int axis = windows_.epilogue_axes[k];
      if (axis == form_.row.axis || axis == form_.column.axis) varying.insert(static_cast<int>(k));
    }
    for (const ExprId id : uniform_parts(program_, windows_.epilogue->body[0], varying, 1)) {
      const int buffer = w_.allocate("h_" + stage_.name, program_.exprs[static_cast<size_t>(id)].type,
                                     {Dim(lanes_)}, Level::cache);
      across([&](const Dim& lane) {
        w_.store({buffer, {lane}}, Combine::assign, values_.value(id, epilogue_point()));
      });
      values_.take_value(id, [this, buffer] { return Access{buffer, {lane_}}; });
    }
  }

  void rows_of_block(int64_t first, int64_t rows) {
    const Dim width(form_.column.length);
    const Dims square = {Dim(rows) * width, Dim(lanes_)};
    const int sums = w_.allocate("sums_" + stage_.name, type_, square, Level::registers);
    const auto at = [&](const Dim& row, const Dim& column, const Dim& lane) {
      return Access{sums, {row * width + column, lane}};
    };
    const auto for_points = [&](const std::function<void(const Dim& row, const Dim& column)>& body) {
      w_.loop(LoopKind::unrolled, "i0", Dim(rows), [&](const Dim& i0) {
        coordinate(form_.row.axis) = Dim(first) + i0;
        w_.loop(LoopKind::unrolled, "i1", width, [&](const Dim& i1) {
          coordinate(form_.column.axis) = i1;
          body(i0, i1);
        });
      });
    };
    for_points([&](const Dim& row, const Dim& column) {
      across([&](const Dim& lane) {
        const int start =
            border_ == ir::none ? identity_value(w_, stage_.monoid.kind, type_) : w_.load(border_at(lane));
        w_.store(at(row, column, lane), Combine::assign, start);
      });
    });
    assume_guards(true);
    values_.read_at(form_.operand, [this](const Dims& indices) {
      const Dim place = indices[indices.size() - 2] * Dim(form_.column.extent) + indices.back();
      return Access{planes_read_, {place, lane_}};
    });
    w_.loop(LoopKind::unrolled, "i0", Dim(rows), [&](const Dim& i0) {
      coordinate(form_.row.axis) = Dim(first) + i0;
      for_taps_inside(form_.row, "k0", [&] {
        w_.loop(LoopKind::unrolled, "i1", width, [&](const Dim& i1) {
          coordinate(form_.column.axis) = i1;
          for_taps_inside(form_.column, "k1", [&] {
            across([&](const Dim& lane) {
              lane_ = lane;
              w_.store(at(i0, i1, lane), combine_of(stage_.monoid.kind),
                       values_.value(stage_.body[0], point_), stage_.name, point_);
            });
          });
        });
      });
    });
    values_.assume({});
    values_.read_buffer(form_.operand, source_);
    finish(first, rows, sums, for_points, at);
  }

  template <class ForPoints, class At>
  void finish(int64_t first, int64_t rows, int sums, const ForPoints& for_points, const At& at) {
    const Dim width(form_.column.length);
    int finished = sums;
    if (plan_.finished_across) {
      finished =
          w_.allocate("finished_" + stage_.name, type_, {Dim(rows) * width, Dim(lanes_)}, Level::registers);
      for_points([&](const Dim& row, const Dim& column) {
        across([&](const Dim& lane) {
          lane_ = lane;
          const Access sum = at(row, column, lane);
          values_.read_at(stage_.results[0], [sum](const Dims&) { return sum; });
          w_.store({finished, sum.indices}, Combine::assign,
                   values_.value(windows_.epilogue->body[0], epilogue_point()));
        });
      });
    }
    one_by_one([&](const Dim& plane) {
      lane_ = plane;
      w_.loop(LoopKind::vector, "q", Dim(rows) * width, [&](const Dim& q) {
        coordinate(form_.row.axis) = Dim(first) + floor_div(q, width);
        coordinate(form_.column.axis) = floor_mod(q, width);
        const Access element{finished, {q, plane}};
        int value = w_.load(element);
        if (windows_.epilogue != nullptr && !plan_.finished_across) {
          values_.read_at(stage_.results[0], [element](const Dims&) { return element; });
          value = values_.value(windows_.epilogue->body[0], epilogue_point());
        }
        w_.store({result_, element_at(windows_.last(), result_point())}, Combine::assign, value);
      });
    });
  }

  Dims epilogue_point() {
    Dims point;
    for (const int axis : windows_.epilogue_axes) point.push_back(axis == -1 ? Dim(0) : coordinate(axis));
    return point;
  }
  Dims result_point() {
    if (windows_.epilogue != nullptr) return epilogue_point();
    return {point_.begin(), point_.begin() + static_cast<std::ptrdiff_t>(stage_.axes.size())};
  }

  const PieceContext& context_;
  const ir::Program& program_;
  const WindowsForm& windows_;
  const Stage& stage_;
  const PlanesPlan& plan_;
  const PlanesForm& form_;
  LoopWriter& w_;
  StageValues& values_;
  const int64_t lanes_;
  const Dim planes_;
  const bool whole_;
  const int source_, result_;
  const ir::ElementType type_;
  Dims point_;  ///< of the reduction: axes, then reduce axes
  Dim block_, lane_;
  std::vector<std::pair<ExprId, int>> packed_;  ///< factors, and where they are
  int border_ = ir::none, planes_read_ = ir::none;
};

}  // namespace

void write_planes(PieceContext& context, const WindowsForm& form, const PlanesPlan& plan) {
  PlanesWriter(context, form, plan).run();
}

}  // namespace axrun::search
