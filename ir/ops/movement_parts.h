#pragma once

#include <vector>

#include "ir/operator.h"

namespace axrun::ir {

// The parts of the movement family.
void reshaping_operators(std::vector<OperatorEntry>& table);
void joining_operators(std::vector<OperatorEntry>& table);
void slicing_operators(std::vector<OperatorEntry>& table);
void padding_operators(std::vector<OperatorEntry>& table);
void rearranging_operators(std::vector<OperatorEntry>& table);

}  // namespace axrun::ir
