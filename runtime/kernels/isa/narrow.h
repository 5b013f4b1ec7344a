#pragma once

#include "runtime/kernels/isa/table.h"

namespace axrun::runtime::AXRUN_ISA {

// The table's entries of this family; contracts in runtime/kernels/narrow.h.
void widen(NarrowFloat type, int64_t count, const uint16_t* x, float* y);
void narrow(NarrowFloat type, int64_t count, const float* x, uint16_t* y);

}  // namespace axrun::runtime::AXRUN_ISA
