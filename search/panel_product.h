#pragma once

#include <functional>

#include "search/packed_rows.h"
#include "search/piece.h"
#include "search/register_tile.h"

namespace axrun::search {

/// A product over a few columns, tile by tile in registers; its left side is packed by tiles of rows.
struct PanelProduct {
  const ir::Stage& sum;
  const PackedRows& left;
  int row = ir::none;  ///< axis of the sum
  RegisterTile tile;
  int64_t unroll = 4;   ///< of the innermost loop along the sum
  bool copied = false;  ///< tiles are, to the cache, before a long epilogue
                        ///< reads them (is_long)
  AxisPart rows;        ///< in whole tiles, but for the last one of all
  int64_t columns = 1;
  bool padded = false;  ///< columns up to the next whole vector can be read
  /// A column of the right side, at a point of the sum whose own column does not matter.
  std::function<int(const ir::Dims& point, const ir::Dim& column)> right;
  /// What becomes of an element of the product.
  std::function<void(const ir::Dims& point, const ir::loop::Access& element, const ir::Dim& column)> store;
};

/// Writes it for a point of the sum (axes, then reduce axes), whose row and reduce axes do not matter.
void write_panel_product(const PieceContext& context, const PanelProduct& product, const ir::Dims& point);

}  // namespace axrun::search
