#pragma once

#include "search/piece.h"
#include "search/transposition.h"

namespace axrun::search {

/// Every decision about a map; the writer only reads it.
struct MapPlan {
  int64_t lanes = 16;  ///< extent of the vector loops: along `lane_axis`, and the one transposed with it
  /// The last axis, or the one before a last one of few elements, along which operands are contiguous.
  size_t lane_axis = 0;
  Transposition transposition;
  int64_t tile_group = 1;  ///< tiles along the transposed axis that are passed before more of the last one
  /// The tiles of the axis of lanes are passed outside of the other axes: operands that are read across their
  /// rows stay in the nearest cache.
  bool tiles_outside = false;
  /// Per axis: where it is cut in parts in which the body's comparisons are decided (concatenations,
  /// padding).
  std::vector<std::vector<ir::Dim>> cuts;
  int parallel_axis = -1;  ///< of the stage (the last one in tiles): outermost, spread over workers; -1: none
};

MapPlan plan_map(const PieceContext& context, const ir::Stage& stage);

/// Writes one map on its own.
void write_map(PieceContext& context, const ir::Stage& stage, const MapPlan& plan);

}  // namespace axrun::search
