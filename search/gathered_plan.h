#pragma once

#include <cstdint>

#include "search/gathered_form.h"
#include "search/piece.h"
#include "search/register_tile.h"

namespace axrun::search {

/// Every decision about a gathered product; the writer only reads it.
struct GatheredPlan {
  RegisterTile tile;
  /// Lines are gathered once for all terms that read them, shifted. Some columns lie between lines then.
  bool shared = false;
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

GatheredPlan plan_gathered(const PieceContext& context, const GatheredForm& form);

}  // namespace axrun::search
