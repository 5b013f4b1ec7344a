#pragma once

#include <string>

#include "ir/program.h"

namespace axrun::ir {

/// Equality up to the numbering of expressions and tensors, unused expressions left out. Tensors are matched
/// by their place: operands in order, then results in order.
bool same_program(const Program& a, const Program& b, std::string& difference);

/// Throws Error(internal) unless the program is valid and its text reads back as the same program.
void require_faithful(const Program& program);

}  // namespace axrun::ir
