#include "search/right_panels.h"

#include <algorithm>
#include <string>
#include <utility>

#include "search/transposition.h"

namespace axrun::search {

using ir::Dim;
using ir::Dims;
using ir::ElementType;
using ir::loop::Access;
using ir::loop::Combine;
using ir::loop::Level;
using ir::loop::LoopKind;

RightPanels::RightPanels(PieceContext& context, const ContractionPlan& plan, PackedRight packed)
    : context_(context),
      form_(plan.form),
      sum_(*form_.sum),
      plan_(plan),
      w_(context.writer),
      packed_(std::move(packed)),
      point_(sum_.axes.size() + sum_.reduce_axes.size(), Dim(0)),
      depth_{Dim(0), sum_.reduce_axes.back().extent} {}

Dim RightPanels::place_in_part(const Dims& point, int axis) const {
  return point[static_cast<size_t>(axis)] - part_of(context_, sum_, axis).first;
}

void RightPanels::move_to(int axis, const Dim& place) {
  point_[static_cast<size_t>(axis)] = part_of(context_, sum_, axis).first + place;
}

Access RightPanels::at(const Dims& point, const Dim& lane) const {
  Dims indices = packed_at_;
  for (size_t k = 0; k < depth_axes(); ++k) indices.push_back(point[sum_.axes.size() + k]);
  const Dim step = point.back() - depth_.first;
  if (shift_ == 0) indices.back() = step;
  indices.push_back(lane + Dim(shift_) * step);
  return {packed_.buffer, indices};
}

ElementType RightPanels::type() const {
  if (plan_.narrow == ir::none) return ElementType::f32;
  return context_.program.exprs[static_cast<size_t>(plan_.narrow)].type;
}

int RightPanels::value_at(const Dims& point, const Dim& lane) const {
  const int held = w_.load(at(point, lane));
  return plan_.narrow == ir::none ? held : w_.operation(ir::ScalarOp::cast, ElementType::f32, {held});
}

void RightPanels::write_all(bool tail) {
  // Outer axes on which it depends.
  std::vector<int>& outer = packed_.outer;
  for (const int axis : form_.outer) {
    const bool used = std::any_of(form_.right.begin(), form_.right.end(), [&](ir::ExprId id) {
      return axes_of(context_.program, id).count(axis) != 0;
    });
    if (used) outer.push_back(axis);
  }
  const Dim tiles = part_of(context_, sum_, form_.column).tiles(plan_.tile.columns, context_.facts);
  Dims dims;
  for (const int axis : outer) dims.push_back(part_of(context_, sum_, axis).rest);
  dims.push_back(tiles);
  for (const ir::Axis& axis : sum_.reduce_axes) dims.push_back(axis.extent);
  dims.emplace_back(plan_.tile.columns);
  packed_.buffer = w_.allocate("packed_" + sum_.name, type(), dims, Level::memory);
  const std::function<void(size_t)> loop = [&](size_t k) {
    const bool spread = k == 0 && plan_.spread != ContractionPlan::Spread::none;
    const LoopKind kind = spread ? LoopKind::parallel : LoopKind::sequential;
    if (k == outer.size()) {
      return w_.loop(kind, "jt", tiles, [&](const Dim& jt) {
        packed_at_.clear();
        for (const int axis : outer) packed_at_.push_back(place_in_part(point_, axis));
        packed_at_.push_back(jt);
        pack(jt, plan_.tile.columns, tail);
      });
    }
    w_.loop(kind, "o" + std::to_string(k), part_of(context_, sum_, outer[k]).rest, [&](const Dim& o) {
      move_to(outer[k], o);
      loop(k + 1);
    });
  };
  loop(0);
}

void RightPanels::write_one(const Dims& point, const Dim& tile, int64_t width, bool tail) {
  point_ = point;
  const size_t last = sum_.reduce_axes.size() - 1;
  depth_ = part_of(context_, sum_, static_cast<int>(sum_.axes.size() + last));
  shift_ = depth_.block == 0 && may_read_beyond() ? plan_.shift : 0;
  Dims dims;
  for (size_t k = 0; k < depth_axes(); ++k) dims.push_back(sum_.reduce_axes[k].extent);
  if (depth_.block != 0) dims.back() = Dim(depth_.block);
  dims.emplace_back(row_of(width));
  packed_.buffer = w_.allocate("panel_" + sum_.name, ElementType::f32, dims, Level::cache);
  packed_at_.clear();
  pack(tile, width, tail);
}

void RightPanels::allocate_part(const Dim& tiles, const AxisPart& depth) {
  depth_ = depth;
  Dims dims = {tiles};
  for (const ir::Axis& axis : sum_.reduce_axes) dims.push_back(axis.extent);
  dims.back() = depth.block == 0 ? depth.rest : Dim(depth.block);
  dims.emplace_back(plan_.tile.columns);
  packed_.buffer = w_.allocate("panels_" + sum_.name, type(), dims, Level::cache);
}

void RightPanels::write_in_part(const Dims& point, const Dim& tile, const Dim& place, bool tail) {
  point_ = point;
  packed_at_ = {place};
  pack(tile, plan_.tile.columns, tail);
}

void RightPanels::use(const Dims& point, const Dim& tile) {
  packed_at_.clear();
  for (const int axis : packed_.outer) packed_at_.push_back(place_in_part(point, axis));
  const AxisPart part = part_of(context_, sum_, form_.column);
  packed_at_.push_back(Dim(part.block / plan_.tile.columns) * part.number + tile);
}

bool RightPanels::may_read_beyond() const { return part_of(context_, sum_, form_.column).block == 0; }

/// Whole vectors where steps begin between them.
int64_t RightPanels::row_of(int64_t width) const {
  const int64_t lanes = context_.target.lanes(4);
  return shift_ == 0 ? width : (width + beyond() + lanes - 1) / lanes * lanes;
}

/// Columns beyond the last one are 0, or what guards make of them: nothing of them is stored, but they are
/// computed with.
void RightPanels::pack(const Dim& tile, int64_t width, bool tail) {
  if (plan_.square != 0) return pack_squares(tile, width, tail);
  const int zero = ir::is_integer(type()) ? w_.integer(0, type()) : w_.real(0, type());
  const Dim first = Dim(plan_.tile.columns) * tile;
  const Dim columns = part_of(context_, sum_, form_.column).rest;
  const Dim exist = tail ? min(Dim(width), columns - first) : Dim(width);
  const bool guarded = plan_.guarded && may_read_beyond();
  const Dim here = guarded ? Dim(row_of(width)) : exist + Dim(beyond());
  if (shift_ != 0) point_.back() = depth_.first;
  depth_loops(depth_axes(), 0, [&] {
    if (tail && !guarded) {
      w_.loop(LoopKind::vector, "z1", Dim(row_of(width)),
              [&](const Dim& lane) { w_.store(at(point_, lane), Combine::assign, zero); });
    }
    w_.loop(LoopKind::vector, "j1", here, [&](const Dim& lane) {
      move_to(form_.column, first + lane);
      w_.store(at(point_, lane), Combine::assign, product());
    });
  });
}

/// Columns beyond the last one are that one again.
void RightPanels::pack_squares(const Dim& tile, int64_t width, bool tail) {
  const int64_t side = plan_.square;
  const size_t last = sum_.reduce_axes.size() - 1;
  const Dim columns = part_of(context_, sum_, form_.column).rest;
  const bool whole = depth_.has_whole_tiles(side, context_.facts);
  Dim& k = point_[sum_.axes.size() + last];
  const auto square = [&](const Dim& kb, const Dim& jb) {
    const Dim first_k = Dim(side) * kb, first_column = Dim(plan_.tile.columns) * tile + Dim(side) * jb;
    const Dim here = whole ? Dim(side) : min(Dim(side), depth_.rest - first_k);
    write_transposed(
        w_, {side, here.constant().value_or(side), Dim(side), here}, "square_" + sum_.name,
        {ElementType::f32},
        [&](size_t, const Dim& row, const Dim& column) {
          const Dim from = first_column + row;
          move_to(form_.column, tail ? min(from, columns - 1) : from);
          k = depth_.first + first_k + column;
          return product();
        },
        [&](const Dim& row, const Dim& column, const std::vector<Access>& values) {
          k = depth_.first + first_k + column;
          w_.store(at(point_, Dim(side) * jb + row), Combine::assign, w_.load(values[0]));
        });
  };
  depth_loops(last, 0, [&] {
    // Along k first: sequences that prefetchers follow.
    w_.loop(LoopKind::sequential, "jb", Dim(width / side), [&](const Dim& jb) {
      w_.loop(LoopKind::sequential, "kb", depth_.tiles(side, context_.facts),
              [&](const Dim& kb) { square(kb, jb); });
    });
  });
}

void RightPanels::depth_loops(size_t count, size_t k, const std::function<void()>& body) {
  if (k == count) return body();
  const bool last = k + 1 == sum_.reduce_axes.size();
  const Dim extent = last ? depth_.tiles(1, context_.facts) : sum_.reduce_axes[k].extent;
  w_.loop(LoopKind::sequential, "p" + std::to_string(k), extent, [&](const Dim& p) {
    point_[sum_.axes.size() + k] = last ? depth_.first + p : p;
    depth_loops(count, k + 1, body);
  });
}

int RightPanels::product() {
  if (plan_.narrow != ir::none) return context_.values.value(plan_.narrow, point_);
  int result = context_.values.value(form_.right[0], point_);
  for (size_t k = 1; k < form_.right.size(); ++k)
    result = w_.mul(result, context_.values.value(form_.right[k], point_));
  return result;
}

}  // namespace axrun::search
