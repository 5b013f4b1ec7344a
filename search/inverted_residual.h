#pragma once

#include "search/chained_windows.h"
#include "search/inverted_residual_form.h"

namespace axrun::search {

/// Every decision about a product, windows over it and the sum that reads these; the writer only reads it.
struct InvertedResidualPlan {
  ChainedWindowsPlan windows;
  RegisterTile tile;    ///< of the product
  int64_t unroll = 4;   ///< of the innermost loop along it
  bool copied = false;  ///< tiles are, to the cache, before a long epilogue
                        ///< reads them (is_long)
  /// Channels at a time: what the product gives of them at the lines of a group stays in the nearest cache. A
  /// multiple of the tile's rows.
  int64_t block = 1;
};
InvertedResidualPlan plan_inverted_residual(const PieceContext& context, const InvertedResidualForm& form);

/// Writes, group by group of lines and block by block of channels, the product at the lines that windows of
/// the group read, and the windows; then the sum for the group. Lines at the border of two groups are
/// computed for both.
void write_inverted_residual(PieceContext& context, const InvertedResidualForm& form,
                             const InvertedResidualPlan& plan);

}  // namespace axrun::search
