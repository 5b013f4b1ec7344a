#pragma once

#include <optional>
#include <vector>

#include "search/windows_form.h"

namespace axrun::search {

/// How an axis of the result moves over an operand: with stride * o + tap * k + start, within 0 <= ... <
/// extent.
struct WindowMove {
  int axis = ir::none;      ///< of the result
  int tap_axis = ir::none;  ///< of the reduction, numbered on from its axes
  int64_t length = 1;       ///< of the result
  int64_t taps = 1;
  int64_t stride = 1, tap = 1, start = 0;
  int64_t extent = 1;  ///< of the operand

  /// Taps that are inside, as first <= k < first + count.
  ir::Dim first(const ir::Dim& o) const;
  ir::Dim count(const ir::Dim& o) const;
  /// The same of all points together; 0 where some point has none.
  int64_t total() const;
};

/// Windows over small planes of one operand: lanes run across the planes (channels), so that rows may be
/// short, and every tap that is outside of a plane is left out when code is made.
struct PlanesForm {
  int plane = ir::none;  ///< axis of the reduction, across lanes
  std::vector<int> outer;
  ir::TensorId operand = ir::none;
  WindowMove row, column;
  std::vector<ir::ExprId> guards;  ///< comparisons: all true for taps inside
  std::vector<ir::ExprId>
      factors;  ///< what a tap is multiplied by: the same for all points of a plane, and constant
};

/// Nothing where windows have another form. constant: one flag per tensor.
std::optional<PlanesForm> planes_of(const ir::Program& program, const WindowsForm& form,
                                    const std::vector<bool>& constant);

}  // namespace axrun::search
