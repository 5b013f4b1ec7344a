#pragma once

#include "ir/lane/program.h"
#include "ir/types.h"

namespace axrun::jit::x86 {

/// The lane program that an operation is written out from; null for operations that have none.
const ir::lane::Program* lane_program_of(ir::ScalarOp op);

}  // namespace axrun::jit::x86
