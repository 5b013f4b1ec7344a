#include "ir/ops/movement_parts.h"

namespace axrun::ir {

void movement_operators(std::vector<OperatorEntry>& table) {
  reshaping_operators(table);
  joining_operators(table);
  slicing_operators(table);
  padding_operators(table);
  rearranging_operators(table);
}

}  // namespace axrun::ir
