#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "ir/dim.h"

namespace axrun::ir {

/// floor_div(dividend, divisor) where it stands in a dim as something that no polynomial expresses.
struct Quotient {
  Dim dividend;
  int64_t divisor;  ///< above 1

  Dim whole() const { return floor_div(dividend, Dim(divisor)); }
};

/// The quotients by constants in a dim, but for those inside of others.
std::vector<Quotient> quotients_in(const Dim& dim);

/// The dim with `change` of every quotient by a constant in its place, outermost first; where that is
/// nothing the quotient stays, with what is changed inside of it.
Dim with_quotients(const Dim& dim, const std::function<std::optional<Dim>(const Quotient&)>& change);

}  // namespace axrun::ir
