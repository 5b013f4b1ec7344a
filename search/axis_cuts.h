#pragma once

#include <map>
#include <vector>

#include "ir/program.h"

namespace axrun::search {

/// A comparison of one axis of a stage with what does not depend on axes: true where (axis < bound) == below.
struct AxisCondition {
  ir::ExprId id = ir::none;
  int axis = 0;
  ir::Dim bound;
  bool below = true;
};

/// All such comparisons in a stage's body.
std::vector<AxisCondition> axis_conditions(const ir::Program& program, const ir::Stage& stage);

/// Where the values of an axis's conditions change, in increasing order, strictly inside of the axis: between
/// two of them (and its ends) every condition is decided. Empty where the order is not certain for all sizes.
std::vector<ir::Dim> cuts_of(const std::vector<AxisCondition>& conditions, int axis, const ir::Dim& extent);

/// Which conditions on the axis are true, and which false, for low <= axis < high.
std::map<ir::ExprId, bool> decided(const std::vector<AxisCondition>& conditions, int axis, const ir::Dim& low,
                                   const ir::Dim& high);

}  // namespace axrun::search
