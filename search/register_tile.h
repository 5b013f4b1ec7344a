#pragma once

#include <cstdint>
#include <limits>

#include "jit/target.h"

namespace axrun::search {

/// How many rows and columns of a product are accumulated in registers.
struct RegisterTile {
  int64_t rows = 1;
  int64_t columns = 1;
  double cycles = 0;  ///< about so many for a step along k of the whole product
};

/// The tile for a product of about `rows` x `columns` (f32) that leaves the least work for the multiply-add
/// units, work on padding included. Columns are whole vectors. Registers are left for one row of b, an
/// element of a, and a few temporaries of the epilogue. packed: the rows of a tile of a lie side by side.
/// highest: of the tile's rows.
RegisterTile register_tile(int64_t rows, int64_t columns, const jit::Target& target, bool packed = false,
                           int64_t highest = std::numeric_limits<int64_t>::max());

}  // namespace axrun::search
