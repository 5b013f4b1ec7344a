#include "ir/ops/machine_learning.h"

namespace axrun::ir {

void machine_learning_operators(std::vector<OperatorEntry>& table) {
  feature_operators(table);
  encoder_operators(table);
  linear_model_operators(table);
  support_vector_operators(table);
  tree_ensemble_operators(table);
}

}  // namespace axrun::ir
