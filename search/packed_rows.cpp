#include "search/packed_rows.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

namespace axrun::search {

using ir::Dim;
using ir::Dims;
using ir::ExprId;
using ir::loop::Access;
using ir::loop::Combine;
using ir::loop::Level;
using ir::loop::LoopKind;

PackedRows::PackedRows(PieceContext& context, const ir::Stage& sum, std::vector<ExprId> factors,
                       const std::vector<int>& outer, int row, int64_t tile_rows)
    : context_(context),
      sum_(sum),
      factors_(std::move(factors)),
      row_(row),
      tile_rows_(tile_rows),
      rows_(row == ir::none ? Dim(1) : sum.axes[static_cast<size_t>(row)].extent),
      tiles_(ceil_div(rows_, Dim(tile_rows))) {
  for (const int axis : outer) {
    const bool used = std::any_of(factors_.begin(), factors_.end(),
                                  [&](ExprId id) { return axes_of(context.program, id).count(axis) != 0; });
    if (used) outer_.push_back(axis);
  }
}

void PackedRows::write() {
  LoopWriter& w = context_.writer;
  Dims dims;
  for (const int axis : outer_) dims.push_back(sum_.axes[static_cast<size_t>(axis)].extent);
  dims.push_back(tiles_);
  for (const ir::Axis& axis : sum_.reduce_axes) dims.push_back(axis.extent);
  dims.emplace_back(tile_rows_);
  buffer_ = w.allocate("left_" + sum_.name, ir::ElementType::f32, dims, Level::memory);
  Dims point(sum_.axes.size() + sum_.reduce_axes.size(), Dim(0));
  const std::function<void(size_t)> loop = [&](size_t k) {
    if (k == outer_.size())
      return w.loop(LoopKind::sequential, "it", tiles_, [&](const Dim& it) { write_tile(point, 0, it); });
    const auto axis = static_cast<size_t>(outer_[k]);
    w.loop(LoopKind::sequential, "o" + std::to_string(k), sum_.axes[axis].extent, [&](const Dim& o) {
      point[axis] = o;
      loop(k + 1);
    });
  };
  loop(0);
}

void PackedRows::write_tile(Dims& point, size_t k, const Dim& tile) {
  LoopWriter& w = context_.writer;
  if (k < sum_.reduce_axes.size()) {
    return w.loop(LoopKind::sequential, "k" + std::to_string(k), sum_.reduce_axes[k].extent,
                  [&](const Dim& here) {
                    point[sum_.axes.size() + k] = here;
                    write_tile(point, k + 1, tile);
                  });
  }
  const bool whole = context_.facts.is_multiple(rows_, tile_rows_);
  const Dim height(tile_rows_);
  if (!whole) {
    w.loop(LoopKind::unrolled, "z1", height,
           [&](const Dim& i1) { w.store(at(point, tile, i1), Combine::assign, w.real(0)); });
  }
  w.loop(LoopKind::unrolled, "i1", whole ? height : min(height, rows_ - height * tile), [&](const Dim& i1) {
    if (row_ != ir::none) point[static_cast<size_t>(row_)] = height * tile + i1;
    int value = context_.values.value(factors_[0], point);
    for (size_t n = 1; n < factors_.size(); ++n)
      value = w.mul(value, context_.values.value(factors_[n], point));
    w.store(at(point, tile, i1), Combine::assign, value);
  });
}

Access PackedRows::at(const Dims& point, const Dim& tile, const Dim& row_of_tile) const {
  Access access{buffer_, {}};
  for (const int axis : outer_) access.indices.push_back(point[static_cast<size_t>(axis)]);
  access.indices.push_back(tile);
  for (size_t k = 0; k < sum_.reduce_axes.size(); ++k) access.indices.push_back(point[sum_.axes.size() + k]);
  access.indices.push_back(row_of_tile);
  return access;
}

}  // namespace axrun::search
