#pragma once

#include <optional>
#include <string>
#include <vector>

#include "search/gathered_form.h"

namespace axrun::search {

/// How an index of an operand moves over a dimension: stride * o + tap * k + start, o along an axis of the
/// result, k along a reduce axis if there is one.
struct PixelMove {
  size_t dimension = 0;
  int reduce_axis = ir::none;  ///< numbered on from 0; none: one tap
  int64_t stride = 1, taps = 1, tap = 0, start = 0;
  ir::Dim extent;
  bool guarded = false;  ///< what is outside of [0, extent) is 0

  int64_t reach() const { return (taps - 1) * tap; }
};

/// A sum of products of constants and lines (GatheredForm) of which the operand, or the result, lies
/// channels-last: a convolution's. Tiles are of places of a line by rows of the constants, which are
/// next to each other; an element of a line is read for all of them.
struct PixelsForm {
  GatheredForm sum;
  ir::ExprId load = ir::none;  ///< the right side
  PixelMove down, along;       ///< over lines, and over places of a line
  /// Per dimension of the operand: the reduce axes (numbered on from 0) which lead along it, but for those of
  /// moves; one at most.
  std::vector<int> channels;
  bool rows_last = false;  ///< results are contiguous along the rows, not along places
};

/// Nothing where a sum and a map of it (or null) are no such product. constant: one flag per tensor.
std::optional<PixelsForm> find_pixels(const ir::Program& program, const ir::Stage& sum,
                                      const ir::Stage* epilogue, const std::vector<bool>& constant);

}  // namespace axrun::search
