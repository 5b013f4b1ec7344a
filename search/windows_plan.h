#pragma once

#include <optional>
#include <vector>

#include "search/piece.h"
#include "search/planes.h"
#include "search/tiles.h"
#include "search/window_tile.h"
#include "search/windows_form.h"

namespace axrun::search {

/// Every decision about windows; the writer only reads it.
struct WindowsPlan {
  WindowTile tile;
  /// The taps across rows are reduced first, into strips in the cache, then those along the column.
  std::optional<Strips> strips;
  std::vector<Tiles> row_tiles, column_tiles;
  std::vector<Tiles> line_tiles;  ///< of one point each; empty where there are no lines
  /// Tiles of columns for which all lines pass at a time, so that what these read stays in the nearest cache.
  /// 0: all.
  int64_t column_block = 0;
  /// Which taps are written out; the others are loops. Per reduce axis.
  std::vector<bool> unrolled;
  /// Lanes run across planes instead; nothing of the above counts then.
  std::optional<PlanesPlan> planes;

  enum class Spread : uint8_t { none, outer, rows, column_blocks };
  Spread spread = Spread::none;
  int spread_axis = ir::none;  ///< of the reduction, for Spread::outer
};

WindowsPlan plan_windows(const PieceContext& context, const WindowsForm& form);

}  // namespace axrun::search
