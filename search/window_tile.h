#pragma once

#include <cstdint>

#include "jit/target.h"

namespace axrun::search {

/// What the tile of a reduction over windows depends on.
struct WindowShape {
  int64_t rows = 1, columns = 1;                    ///< of the result
  int64_t taps = 1, row_taps = 1, column_taps = 1;  ///< of them: across rows, along the column
  int64_t row_step = 1, step = 1;                   ///< of an operand, for one of the result
  int64_t unrolled = 1;                             ///< taps that are written out
  int64_t factors = 0;       ///< values for each tap that are the same for a tile: weights
  int64_t lane_factors = 0;  ///< and those that are the same for its rows, not along lanes
};

/// How many rows and columns of the result are accumulated in registers, and in which order.
struct WindowTile {
  int64_t rows = 1;
  int64_t columns = 1;  ///< whole vectors
  /// The rows of a tile are outside of the taps along the column, not inside: lanes with a step are read
  /// together with their neighbours, which are used at once then. Otherwise a row serves the next ones.
  bool rows_outside = false;
  bool factors_in_registers = false;  ///< while all tiles pass
  double cycles = 0;                  ///< for all tiles, roughly
};

/// The tile that takes the least time, work on padding included.
WindowTile window_tile(const WindowShape& shape, const jit::Target& target);

}  // namespace axrun::search
