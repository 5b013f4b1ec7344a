#pragma once

#include "runtime/kernels/isa/table.h"

namespace axrun::runtime::AXRUN_ISA {

// The table's entry of this family; contract in table.h.
void transpose_block(size_t element_bytes, int64_t rows, int64_t columns, const void* x, int64_t x_stride,
                     void* y, int64_t y_stride);

}  // namespace axrun::runtime::AXRUN_ISA
