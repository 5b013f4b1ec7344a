#pragma once

#include <functional>
#include <vector>

#include "search/chained_windows_form.h"
#include "search/piece.h"
#include "search/register_tile.h"
#include "search/tiles.h"
#include "search/windows_plan.h"

namespace axrun::search {

/// Every decision about windows and the sum that reads them; the writer only reads it.
struct ChainedWindowsPlan {
  WindowsPlan windows;  ///< of a group of lines, but for its row tiles
  RegisterTile tile;    ///< of the sum
  int64_t unroll = 4;   ///< of the innermost loop along it
  bool copied = false;  ///< tiles are, to the cache, before a long epilogue
                        ///< reads them (is_long)
  /// Groups of lines: the windows of all channels at these lines, which stay in the cache, and then the sum.
  std::vector<Tiles> groups;
  /// Of the windows, for each of these: counted from the first line of a group.
  std::vector<std::vector<Tiles>> row_tiles;

  /// Which loop is spread over workers. Groups that stand apart are not.
  enum class Spread : uint8_t { none, outer, groups };
  Spread spread = Spread::none;
};
/// What windows read that is not in memory, but made for every group of lines.
struct CostOfOperand {
  /// Cycles for what so many lines of windows read, and bytes of it that wait in the cache.
  std::function<double(int64_t lines)> cycles;
  std::function<int64_t(int64_t lines)> bytes;
};
ChainedWindowsPlan plan_chained_windows(const PieceContext& context, const ChainedWindowsForm& form,
                                        const CostOfOperand& operand = {});

/// Makes it: `write` writes the windows at `lines` lines from `first` on, of all channels or of those that
/// `windows` has decided; where they go is decided. Any number of times.
using OperandOfWindows = std::function<void(PieceContext& windows, const ir::Dim& first, int64_t lines,
                                            const std::function<void()>& write)>;

/// Writes, group by group of lines, the windows into the matrix [channels, columns] that the sum's tiles
/// read, and these tiles with what follows them.
void write_chained_windows(PieceContext& context, const ChainedWindowsForm& form,
                           const ChainedWindowsPlan& plan, const OperandOfWindows& operand = {});

}  // namespace axrun::search
