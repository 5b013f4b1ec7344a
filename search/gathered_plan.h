#pragma once

#include <cstdint>

#include "search/gathered_form.h"
#include "search/piece.h"
#include "search/register_tile.h"

namespace axrun::search {

/// Every decision about a gathered product; the writer only reads it.
struct GatheredPlan {
  RegisterTile tile;
  /// What is gathered of a group of lines, and which columns are computed.
  enum class Layout : uint8_t {
    terms,   ///< a row for each term of the sum; columns of all lines one after another
    joined,  ///< once for all taps that read it, shifted; all columns, those between lines among them
    lines,   ///< the same, but lines are computed one by one
  };
  Layout layout = Layout::terms;
  int64_t lines = 1;  ///< of a group, which is gathered at a time
  /// Steps along the first axis of the sum at a time: a group's part of the matrix stays in the cache. Sums
  /// wait in the cache then. 0: all.
  int64_t depth_block = 0;
  bool copied = false;  ///< tiles are, to the cache, before a long epilogue reads them (is_long)
  /// The reduce axes from here on are unrolled, and the one before by so much.
  size_t first_unrolled = 0;
  int64_t unroll = 1;

  /// Which loop is spread over workers.
  enum class Spread : uint8_t { none, outer, groups };
  Spread spread = Spread::none;
};

/// Whether what is gathered is shared by the taps along a reduce axis. Those that move by strides are written
/// one by one.
bool is_shared(const GatheredForm& form, const GatheredPlan& plan, size_t k);

GatheredPlan plan_gathered(const PieceContext& context, const GatheredForm& form);

}  // namespace axrun::search
