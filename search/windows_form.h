#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/linear.h"
#include "ir/program.h"

namespace axrun::search {

/// A reduction over a few literal taps, each of which reads an operand at a place that moves along with the
/// result (stride * o + dilation * k - pad): depthwise convolutions, pools. A map of it may follow.
struct WindowsForm {
  const ir::Stage* reduction = nullptr;
  const ir::Stage* epilogue = nullptr;  ///< null: the reduction is the result
  int column = ir::none;                ///< axis of the reduction: the last one of the result, along lanes
  int row = ir::none;                   ///< the last other axis along which windows move; none: there is none
  std::vector<int> outer;               ///< the other axes, in order of the result
  /// Columns are channels, along which windows don't move.
  bool channels_last = false;
  int line = ir::none;  ///< among `outer`, of those: along which windows move besides
  /// Reduce axes (numbered on from 0) that move along rows, along the column, and along neither.
  std::vector<int> row_taps, column_taps, other_taps;
  /// The axis of the reduction that each axis of the epilogue is; -1 for axes of extent 1.
  std::vector<int> epilogue_axes;
  int64_t step = 1;      ///< elements from one lane to the next, the largest one of all that is read
  int64_t row_step = 1;  ///< rows of an operand from one row of the result to the next

  const ir::Stage& last() const { return epilogue != nullptr ? *epilogue : *reduction; }
};

/// The form of a reduction and a map of it (or null); `reason` says why there is none.
struct FoundWindows {
  bool found = false;
  WindowsForm form;
  std::string reason;
};
FoundWindows find_windows(const ir::Program& program, const ir::Stage& reduction, const ir::Stage* epilogue);

/// The axis outside of all windows along which every load of a tensor reads this dimension of it, from its
/// first element to its last; none where there is not one.
int axis_outside_of_windows(const ir::Program& program, const WindowsForm& windows, ir::TensorId tensor,
                            size_t dimension);

/// Elements from one lane to the next of all that is read of a tensor, in its last dimension; 0 where loads
/// differ.
int64_t column_step(const ir::Program& program, const WindowsForm& windows, ir::TensorId tensor);

/// Points of an axis at which no tap is left out by a guard: first <= point < end, for all sizes. Nothing
/// where a guard's bounds are no literals.
struct Interior {
  int64_t first = 0, end = 0;
};
std::optional<Interior> interior_of(const ir::Program& program, const WindowsForm& form, int axis);

/// How the taps across rows and those along the column can be reduced one after the other, by way of strips:
/// rows of what the first reduction gives, for every column that the second one reads.
struct Strips {
  ir::TensorId operand = ir::none;
  int64_t first = 0, length = 1;          ///< columns of the operand that windows touch, those outside too
  int64_t begin = 0, end = 0;             ///< of them, counted from `first`: those that exist
  std::vector<ir::ExprId> row_guards;     ///< comparisons that leave rows of the operand out
  std::vector<ir::ExprId> column_guards;  ///< and columns: what is outside only
};
/// Nothing where the taps are no product of a row's and a column's, or where columns have no literal bounds.
std::optional<Strips> strips_of(const ir::Program& program, const WindowsForm& form);

}  // namespace axrun::search
