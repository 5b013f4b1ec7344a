#pragma once

#include <optional>
#include <vector>

#include "search/window_move.h"
#include "search/windows_form.h"

namespace axrun::search {

/// Windows over small planes of one operand: lanes run across the planes (channels), so that rows may be
/// short, and every tap that is outside of a plane is left out when code is made.
struct PlanesForm {
  int plane = ir::none;  ///< axis of the reduction, across lanes
  std::vector<int> outer;
  ir::TensorId operand = ir::none;
  WindowMove row, column;
  std::vector<ir::ExprId> guards;  ///< comparisons: all hold for taps inside, and not all for others
  std::vector<ir::ExprId>
      factors;  ///< what a tap is multiplied by: the same for all points of a plane, and constant
};

/// Nothing where windows have another form. constant: one flag per tensor.
std::optional<PlanesForm> planes_of(const ir::Program& program, const WindowsForm& form,
                                    const std::vector<bool>& constant);

}  // namespace axrun::search
