#pragma once

#include <vector>

#include "search/piece.h"

namespace axrun::search {

/// The left side of a product in the order in which tiles of rows read it: [outer..., tiles, k..., rows of a
/// tile]. Rows of the last tile that do not exist are 0.
class PackedRows {
 public:
  /// factors: of the left side; outer: axes of the sum, in order, on some of which it depends.
  PackedRows(PieceContext& context, const ir::Stage& sum, std::vector<ir::ExprId> factors,
             const std::vector<int>& outer, int row, int64_t tile_rows);

  /// Writes the loops that fill it.
  void write();
  /// An element of a tile at a point of the sum, whose own row does not matter.
  ir::loop::Access at(const ir::Dims& point, const ir::Dim& tile, const ir::Dim& row_of_tile) const;

 private:
  void write_tile(ir::Dims& point, size_t k, const ir::Dim& tile);
  const PieceContext& context_;
  const ir::Stage& sum_;
  const std::vector<ir::ExprId> factors_;
  std::vector<int> outer_;  ///< on which it depends
  const int row_;
  const int64_t tile_rows_;
  ir::Dim rows_, tiles_;
  int buffer_ = ir::none;
};

}  // namespace axrun::search
