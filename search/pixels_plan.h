#pragma once

#include <cstdint>

#include "search/piece.h"
#include "search/pixels_form.h"
#include "search/register_tile.h"
#include "search/term_loops.h"

namespace axrun::search {

/// Every decision about PixelsForm; the writer only reads it.
struct PixelsPlan {
  RegisterTile tile;       ///< places by rows of the constants
  int64_t tile_lines = 1;  ///< places are those of so many lines, or part of a line
  int64_t lines = 1;       ///< of a group, for which lines are copied at a time
  int64_t panel_block =
      0;  ///< steps along the first axis of the sum for all tiles of a group at a time, whose
          ///< part of the constants stays in the cache. Sums wait in the cache then. 0: all
  Unrolling unrolling;
  bool copied = false;  ///< tiles are, to the cache, before they are turned, or a long epilogue reads them

  enum class Spread : uint8_t { none, outer, groups, rows };
  Spread spread = Spread::none;
  int64_t rows_of_piece = 0;  ///< tiles of rows for one worker at a time (Spread::rows)
};

PixelsPlan plan_pixels(const PieceContext& context, const PixelsForm& form);

}  // namespace axrun::search
