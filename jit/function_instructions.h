#pragma once

#include "ir/program.h"

namespace axrun::jit {

/// About how many instructions a vector of a function takes, of those that are written out from
/// `ir/lane/math` as many as it has there; 0 for what is one instruction.
double function_instructions(ir::ScalarOp op);

}  // namespace axrun::jit
