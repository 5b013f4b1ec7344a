#pragma once

#include <vector>

#include "ir/operator.h"

namespace axrun::ir {

// The parts of machine_learning_operators, one file each.
void feature_operators(std::vector<OperatorEntry>& table);
void encoder_operators(std::vector<OperatorEntry>& table);
void linear_model_operators(std::vector<OperatorEntry>& table);
void support_vector_operators(std::vector<OperatorEntry>& table);
void tree_ensemble_operators(std::vector<OperatorEntry>& table);

}  // namespace axrun::ir
