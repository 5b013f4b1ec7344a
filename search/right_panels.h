#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "search/contraction_plan.h"
#include "search/piece.h"

namespace axrun::search {

/// The right side of a product, packed at this place, or around it.
struct PackedRight {
  int buffer = ir::none;
  std::vector<int> outer;  ///< axes of the sum that are its first dimensions
};

/// The right side of a product in the order in which tiles of columns read it: [outer..., tiles, k...,
/// columns of a tile], or a panel [k..., columns of a tile] at a time.
class RightPanels {
 public:
  RightPanels(PieceContext& context, const ContractionPlan& plan, PackedRight packed);

  const PackedRight& packed() const { return packed_; }
  /// Writes the loops that make all of them. tail: the last tile lacks columns.
  void write_all(bool tail);
  /// Makes the panel of the first `width` columns of a tile at a point of the sum, and reads from it.
  void write_one(const ir::Dims& point, const ir::Dim& tile, int64_t width, bool tail);
  /// Panels of a part of the last axis along the sum, [tiles, k..., columns of a tile]: memory for so many
  /// tiles; then the panel of one tile after another is made at its place, and read there.
  void allocate_part(const ir::Dim& tiles, const AxisPart& depth);
  void write_in_part(const ir::Dims& point, const ir::Dim& tile, const ir::Dim& place, bool tail);
  void use_in_part(const ir::Dim& place) { packed_at_ = {place}; }
  /// Reads from the panel of a tile, of all that were made, at a point of the sum.
  void use(const ir::Dims& point, const ir::Dim& tile);
  /// An element of the panel in use as an f32, at a point whose own column does not matter.
  int value_at(const ir::Dims& point, const ir::Dim& lane) const;

 private:
  ir::loop::Access at(const ir::Dims& point, const ir::Dim& lane) const;
  /// Of what panels hold.
  ir::ElementType type() const;
  ir::Dim place_in_part(const ir::Dims& point, int axis) const;
  void move_to(int axis, const ir::Dim& place);
  /// Where a part of the columns is decided, of what is read there may be that part only.
  bool may_read_beyond() const;
  /// Axes of the sum that panels have, the first ones.
  size_t depth_axes() const { return sum_.reduce_axes.size() - (shift_ == 0 ? 0 : 1); }
  /// Columns beyond those of a tile that its last step reads.
  int64_t beyond() const { return shift_ == 0 ? 0 : shift_ * (sum_.reduce_axes.back().extent.value() - 1); }
  int64_t row_of(int64_t width) const;
  void pack(const ir::Dim& tile, int64_t width, bool tail);
  void pack_squares(const ir::Dim& tile, int64_t width, bool tail);
  /// The first `count` loops over k.
  void depth_loops(size_t count, size_t k, const std::function<void()>& body);
  int product();

  PieceContext& context_;
  const ProductForm& form_;
  const ir::Stage& sum_;
  const ContractionPlan& plan_;
  LoopWriter& w_;
  PackedRight packed_;
  ir::Dims point_;      ///< of the sum, at what is packed
  ir::Dims packed_at_;  ///< the first indices of the panel in use
  AxisPart depth_;      ///< of the last axis of the sum
  int64_t shift_ = 0;   ///< of the panel in use: see ContractionPlan
};

}  // namespace axrun::search
