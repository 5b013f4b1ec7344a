#pragma once

#include "ir/operator.h"

namespace axrun::ir {

/// The larger value and its position, as a monoid over (value, position): NaN counts as largest, equal values
/// keep the smaller position. The identity is (lowest value of the type, INT64_MAX).
std::vector<Scalar> first_maximum_identity(Builder& b, ElementType type);
std::vector<Scalar> first_maximum(const std::vector<Scalar>& left, const std::vector<Scalar>& right);

void average_pooling_operators(std::vector<OperatorEntry>& table);
void region_pooling_operators(std::vector<OperatorEntry>& table);

}  // namespace axrun::ir
