#pragma once

#include "ir/operator.h"

namespace axrun::ir {

void training_operators(std::vector<OperatorEntry>& table);

}  // namespace axrun::ir
