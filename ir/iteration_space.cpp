#include "ir/iteration_space.h"

#include <algorithm>

#include "ir/arithmetic.h"
#include "ir/error.h"

namespace axrun::ir {
namespace {

constexpr double most_tried_points = 1 << 22;

bool intersect(const AxisSet& a, const AxisSet& b) {
  return std::any_of(a.begin(), a.end(), [&](int64_t axis) { return b.contains(axis); });
}

bool contains(const AxisSet& whole, const AxisSet& part) {
  return std::includes(whole.begin(), whole.end(), part.begin(), part.end());
}

/// Conditions that share axes, directly or through others.
struct Group {
  AxisSet axes;
  std::vector<ExprId> conditions;
};

void add_to_groups(std::vector<Group>& groups, ExprId condition, const AxisSet& axes) {
  Group joined{axes, {condition}};
  std::vector<Group> apart;
  for (Group& group : groups) {
    if (intersect(group.axes, axes)) {
      joined.axes.insert(group.axes.begin(), group.axes.end());
      joined.conditions.insert(joined.conditions.end(), group.conditions.begin(), group.conditions.end());
    } else {
      apart.push_back(std::move(group));
    }
  }
  apart.push_back(std::move(joined));
  groups = std::move(apart);
}

/// Steps to the next point of the axes, the last one fastest; false after the last point.
bool advance(std::vector<int64_t>& coordinates, const AxisSet& axes, const std::vector<int64_t>& extents) {
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    const auto at = static_cast<size_t>(*axis);
    if (++coordinates[at] < extents[at]) return true;
    coordinates[at] = 0;
  }
  return false;
}

}  // namespace

IterationSpace::IterationSpace(const Program& program, const Stage& stage, int64_t steps)
    : program_(program), steps_(steps) {
  for (const Axis& axis : stage.axes) extents_.push_back(axis.extent.value());
  for (const Axis& axis : stage.reduce_axes) extents_.push_back(axis.extent.value());
}

bool IterationSpace::has_constant_extents(const Stage& stage) {
  const auto constant = [](const Axis& axis) { return axis.extent.is_constant(); };
  return std::all_of(stage.axes.begin(), stage.axes.end(), constant) &&
         std::all_of(stage.reduce_axes.begin(), stage.reduce_axes.end(), constant);
}

int64_t IterationSpace::extent(int64_t axis) const {
  return axis == time_axis ? steps_ : extents_[static_cast<size_t>(axis)];
}

const AxisSet& IterationSpace::axes_of(ExprId id) const {
  const auto known = axes_.find(id);
  if (known != axes_.end()) return known->second;
  const Expr& expr = program_.exprs[static_cast<size_t>(id)];
  AxisSet axes = axes_of_all(expr.indices);
  for (ExprId argument : expr.args) {
    if (argument != none) axes.insert(axes_of(argument).begin(), axes_of(argument).end());
  }
  if (expr.op == ScalarOp::axis) axes.insert(expr.integer);
  if (expr.op == ScalarOp::time) axes.insert(time_axis);
  return axes_.emplace(id, std::move(axes)).first->second;
}

AxisSet IterationSpace::axes_of_all(const std::vector<ExprId>& ids) const {
  AxisSet axes;
  for (ExprId id : ids) axes.insert(axes_of(id).begin(), axes_of(id).end());
  return axes;
}

AxisSet IterationSpace::all_axes() const {
  AxisSet axes;
  for (size_t k = 0; k < extents_.size(); ++k) axes.insert(static_cast<int64_t>(k));
  return axes;
}

void IterationSpace::restrict_to(ExprId condition) {
  const Expr& expr = program_.exprs[static_cast<size_t>(condition)];
  counted_.clear();
  if (expr.op == ScalarOp::logical_and) {
    restrict_to(expr.args[0]);
    restrict_to(expr.args[1]);
  } else if (std::find(conditions_.begin(), conditions_.end(), condition) == conditions_.end()) {
    conditions_.push_back(condition);
  }
}

double IterationSpace::points(const AxisSet& axes) const {
  const auto known = counted_.find(axes);
  if (known != counted_.end()) return known->second;
  std::vector<Group> groups;
  for (ExprId condition : conditions_) {
    const AxisSet& of = axes_of(condition);
    if (!of.empty() && !of.contains(time_axis) && contains(axes, of)) add_to_groups(groups, condition, of);
  }
  double count = 1;
  AxisSet free = axes;
  for (const Group& group : groups) {
    const std::optional<double> satisfied = satisfying(group.conditions, group.axes);
    if (!satisfied) continue;
    count *= *satisfied;
    for (int64_t axis : group.axes) free.erase(axis);
  }
  for (int64_t axis : free) count *= static_cast<double>(extent(axis));
  return counted_[axes] = count;
}

/// The points of `axes` where all conditions hold; empty when that is not known before the run.
std::optional<double> IterationSpace::satisfying(const std::vector<ExprId>& conditions,
                                                 const AxisSet& axes) const {
  double all = 1;
  for (int64_t axis : axes) all *= static_cast<double>(extent(axis));
  if (all == 0) return 0;
  if (all > most_tried_points) return std::nullopt;
  std::vector<int64_t> coordinates(extents_.size(), 0);
  double count = 0;
  do {
    bool hold = true;
    for (ExprId condition : conditions) {
      const std::optional<int64_t> result = value(condition, coordinates);
      if (!result) return std::nullopt;
      hold = hold && *result != 0;
    }
    if (hold) ++count;
  } while (advance(coordinates, axes, extents_));
  return count;
}

/// Integer and boolean arithmetic on coordinates; empty for anything else.
std::optional<int64_t> IterationSpace::value(ExprId id, const std::vector<int64_t>& coordinates) const {
  const Expr& expr = program_.exprs[static_cast<size_t>(id)];
  if (expr.type != ElementType::i64 && expr.type != ElementType::boolean) return std::nullopt;
  switch (expr.op) {
    case ScalarOp::integer:
      return expr.integer;
    case ScalarOp::extent:
      return expr.dim.constant();
    case ScalarOp::axis:
      return coordinates[static_cast<size_t>(expr.integer)];
    case ScalarOp::select: {
      const auto condition = value(expr.args[0], coordinates);
      return condition ? value(expr.args[*condition != 0 ? 1 : 2], coordinates) : std::nullopt;
    }
    case ScalarOp::real:
    case ScalarOp::time:
    case ScalarOp::parameter:
    case ScalarOp::load:
    case ScalarOp::cast:
    case ScalarOp::cast_saturate:
    case ScalarOp::is_nan:
    case ScalarOp::is_inf:
      return std::nullopt;
    default:
      break;
  }
  const auto left = value(expr.args[0], coordinates);
  if (!left) return std::nullopt;
  const ElementType type = program_.exprs[static_cast<size_t>(expr.args[0])].type;
  if (expr.args[1] == none) return integer_unary(expr.op, type, *left);
  const auto right = value(expr.args[1], coordinates);
  return right ? integer_binary(expr.op, type, *left, *right) : std::nullopt;
}

}  // namespace axrun::ir
