#pragma once

#include "runtime/kernels/isa/table.h"

namespace axrun::runtime::AXRUN_ISA {

// The table's entries of this family (one plane each); contracts in table.h.
void max_pool(const PoolCell& cell, const float* x, float* y);
void average_pool(const PoolCell& cell, const float* x, float* y);

}  // namespace axrun::runtime::AXRUN_ISA
