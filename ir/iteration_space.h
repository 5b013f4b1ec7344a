#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "ir/program.h"

namespace axrun::ir {

/// Axes of a stage by number: its axes, then its reduce axes. `time_axis` is the index of the enclosing scan.
using AxisSet = std::set<int64_t>;
inline constexpr int64_t time_axis = -1;

/// The points at which a stage's expressions are evaluated, counted without walking over them.
///
/// An expression has one value for each combination of the axes that it depends on. Conditions restrict the
/// space; one that depends on data, or on too many points to try them all, is taken to hold everywhere.
class IterationSpace {
 public:
  /// Needs constant extents (see has_constant_extents). The program must outlive the space. `steps`: how
  /// often the enclosing scan runs, where its index counts as an axis.
  IterationSpace(const Program& program, const Stage& stage, int64_t steps = 1);

  static bool has_constant_extents(const Stage& stage);

  /// The axes on which a value depends: through indices, guards and both sides of selections.
  const AxisSet& axes_of(ExprId id) const;
  AxisSet axes_of_all(const std::vector<ExprId>& ids) const;
  /// Axes and reduce axes.
  AxisSet all_axes() const;

  /// Leaves out the points where the boolean expression is false.
  void restrict_to(ExprId condition);

  /// Combinations of these axes at which every condition on none but them holds.
  double points(const AxisSet& axes) const;

 private:
  int64_t extent(int64_t axis) const;
  std::optional<double> satisfying(const std::vector<ExprId>& conditions, const AxisSet& axes) const;
  std::optional<int64_t> value(ExprId id, const std::vector<int64_t>& coordinates) const;

  const Program& program_;
  std::vector<int64_t> extents_;
  int64_t steps_;
  std::vector<ExprId> conditions_;
  mutable std::map<ExprId, AxisSet> axes_;
  mutable std::map<AxisSet, double> counted_;
};

}  // namespace axrun::ir
