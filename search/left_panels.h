#pragma once

#include <functional>

#include "search/contraction_plan.h"
#include "search/piece.h"

namespace axrun::search {

/// A part of the left side of a product near the core, in the order in which tiles of rows read it: [tiles,
/// steps along the last axis of the sum, rows of a tile]. Rows beyond the last one are that one again.
class LeftPanels {
 public:
  LeftPanels(PieceContext& context, const ContractionPlan& plan);

  /// Memory for so many tiles and a part of the axis.
  void allocate(const ir::Dim& tiles, const AxisPart& depth);
  /// Makes the panel of a tile of all rows at its place. point: of the sum; tail: the last tile lacks rows.
  void write(const ir::Dims& point, const ir::Dim& tile, const ir::Dim& place, bool tail);
  /// An element of the panel at a place, at a point of the sum whose row does not matter.
  int value_at(const ir::Dims& point, const ir::Dim& place, const ir::Dim& row) const;

 private:
  void write_squares(const ir::Dim& tile, const ir::Dim& place, bool tail);
  ir::loop::Access element(const ir::Dim& place, const ir::Dim& step, const ir::Dim& row) const;
  void move_to(const ir::Dim& row, bool tail);
  int product();
  ir::Dim& step() { return point_.back(); }

  PieceContext& context_;
  const ProductForm& form_;
  const ir::Stage& sum_;
  const ContractionPlan& plan_;
  LoopWriter& w_;
  ir::Dims point_;
  AxisPart depth_;
  int buffer_ = ir::none;
};

}  // namespace axrun::search
