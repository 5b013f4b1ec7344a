#pragma once

#include <cstdint>
#include <limits>

#include "jit/target.h"

namespace axrun::search {

/// How many rows and columns of a product are accumulated in registers.
struct RegisterTile {
  int64_t rows = 1;
  int64_t columns = 1;
  double cycles = 0;          ///< about so many for a step along k of the whole product
  int64_t last_together = 1;  ///< narrower last tiles that are worth computing together
  double last_waits = 0;      ///< cycles, of the same, that last tiles spend on waiting for multiply-adds
};

/// The tile for a product of about `rows` x `columns` (f32) that leaves the least work for the multiply-add
/// units, work on padding included. Columns are whole vectors. Registers are left for one row of b, an
/// element of a, and a few temporaries of the epilogue. packed: the rows of a tile of a lie side by side.
/// highest: of the tile's rows. lines: the columns come again so often; the last tiles of a few of them may
/// be computed together (RegisterTile::last_together).
RegisterTile register_tile(int64_t rows, int64_t columns, const jit::Target& target, bool packed = false,
                           int64_t highest = std::numeric_limits<int64_t>::max(), int64_t lines = 1);

}  // namespace axrun::search
