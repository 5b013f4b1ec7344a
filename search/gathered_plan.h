#pragma once

#include <cstdint>
#include <vector>

#include "search/gathered_form.h"
#include "search/piece.h"
#include "search/register_tile.h"
#include "search/term_loops.h"

namespace axrun::search {

/// Every decision about a gathered product; the writer only reads it.
struct GatheredPlan {
  RegisterTile tile;
  /// Tiles are of places (of several whole lines, or of a part of one) by rows of the sum, which lie next to
  /// each other: `tile.rows` places, `tile.columns` rows (`gathered_across`).
  bool across = false;
  int64_t tile_lines = 1;   ///< of a tile, across
  int64_t panel_block = 0;  ///< across: steps along the first axis of the sum for all tiles of a group at a
                            ///< time, whose part of the left side stays in the cache. 0: all
  /// What is gathered of a group of lines, and which columns are computed.
  enum class Layout : uint8_t {
    terms,   ///< a row for each term of the sum; columns of all lines one after another
    joined,  ///< once for all taps that read it, shifted; all columns, those between lines among them
    lines,   ///< the same, but lines are computed one by one
  };
  Layout layout = Layout::terms;
  /// Across, shared by taps that move by strides: all places that they read lie in the order in which the
  /// operand has them, so that tap t of place p is element stride * p + t. Otherwise every phase lies apart.
  bool in_order = false;
  int64_t lines = 1;  ///< of a group, which is gathered at a time
  /// Layout::lines: the narrower last tiles of so many lines are computed together, where one alone would
  /// wait for its multiply-adds. Only where all groups have as many lines.
  int64_t lines_of_last_tile = 1;
  /// Steps along the first axis of the sum at a time: a group's part of the matrix stays in the cache. Sums
  /// wait in the cache then. 0: all.
  int64_t depth_block = 0;
  bool copied = false;  ///< tiles are, to the cache, before a long epilogue reads them (is_long)
  Unrolling unrolling;

  /// Which loop is spread over workers.
  enum class Spread : uint8_t { none, outer, groups, rows };
  Spread spread = Spread::none;
  int64_t rows_of_piece = 0;  ///< tiles of rows for one worker at a time (Spread::rows, across)
};

/// Whether what is gathered is shared by the taps along a reduce axis. Those that move by strides are written
/// one by one, but where places lie in order.
bool is_shared(const GatheredForm& form, const GatheredPlan& plan, size_t k);
/// Rows of the matrix for a reduce axis whose taps share them.
int64_t phases(const GatheredForm& form, const GatheredPlan& plan, size_t k);

/// How many lines, or places of a line, are gathered for so many of the sum.
struct Reach {
  int64_t stride = 1;
  int64_t beyond = 0;  ///< from the first tap to the last one
  int64_t of(int64_t count) const { return stride * (count - 1) + 1 + beyond; }
};
struct Reaches {
  Reach lines, places;
};
/// phase: for each reduce axis the phase that is gathered; the first ones reach farthest.
Reaches reaches(const GatheredForm& form, const GatheredPlan& plan, const std::vector<int64_t>& phase = {});

/// A plan, and about how many cycles of one core it takes.
struct PlannedGathered {
  GatheredPlan plan;
  double cycles = 0;
};

/// The default plan, then those that promise most besides it: at least one.
std::vector<GatheredPlan> gathered_plans(const PieceContext& context, const GatheredForm& form);

}  // namespace axrun::search
