#pragma once

#include <functional>
#include <vector>

#include "ir/operator.h"

namespace axrun::ir {

// The parts of the elementwise family.
void unary_operators(std::vector<OperatorEntry>& table);
void activation_operators(std::vector<OperatorEntry>& table);
void binary_operators(std::vector<OperatorEntry>& table);
void variadic_operators(std::vector<OperatorEntry>& table);
void conversion_operators(std::vector<OperatorEntry>& table);

/// The node's only output: rule applied to every element of input 0.
void map_elements(const OperatorContext& context, Builder& b,
                  const std::function<Scalar(const Scalar& x)>& rule);

/// log(1 + exp(x)) without overflow.
Scalar softplus(const Scalar& x);
/// 1 / (1 + exp(-x)).
Scalar sigmoid(const Scalar& x);

}  // namespace axrun::ir
