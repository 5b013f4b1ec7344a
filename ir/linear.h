#pragma once

#include <map>
#include <optional>

#include "ir/builder.h"
#include "ir/program.h"

namespace axrun::ir {

/// An index expression that is linear in the axes of its stage: sum of coefficients[axis] * axis + constant.
struct Linear {
  std::map<int, Dim> coefficients;  ///< none is 0
  Dim constant = 0;

  Dim coefficient(int axis) const;
  Linear& operator+=(const Linear& other);
  Linear operator*(const Dim& factor) const;
  bool operator==(const Linear& other) const = default;
  bool is_zero() const { return coefficients.empty() && constant == Dim(0); }
  /// The axis, when the expression is just that.
  std::optional<int> single_axis() const;
};

/// Nothing where the expression is not linear, or depends on data.
std::optional<Linear> linear_form(const Program& program, ExprId id);

/// What is not negative exactly where a comparison of such expressions holds.
std::optional<Linear> margin_of(const Program& program, const Expr& comparison);

/// The expression again, over new axes.
Scalar to_scalar(Builder& builder, const Linear& linear, const Indices& axes);

}  // namespace axrun::ir
