#pragma once

#include <map>
#include <optional>

#include "ir/builder.h"
#include "ir/program.h"

namespace axrun::search {

/// An index expression that is linear in the axes of its stage: sum of coefficients[axis] * axis + constant.
struct Linear {
  std::map<int, ir::Dim> coefficients;  ///< none is 0
  ir::Dim constant = 0;

  ir::Dim coefficient(int axis) const;
  Linear& operator+=(const Linear& other);
  Linear operator*(const ir::Dim& factor) const;
  bool operator==(const Linear& other) const = default;
  bool is_zero() const { return coefficients.empty() && constant == ir::Dim(0); }
  /// The axis, when the expression is just that.
  std::optional<int> single_axis() const;
};

/// Nothing where the expression is not linear, or depends on data.
std::optional<Linear> linear_form(const ir::Program& program, ir::ExprId id);

/// What is not negative exactly where a comparison of such expressions holds.
std::optional<Linear> margin_of(const ir::Program& program, const ir::Expr& comparison);

/// The expression again, over new axes.
ir::Scalar to_scalar(ir::Builder& builder, const Linear& linear, const ir::Indices& axes);

}  // namespace axrun::search
