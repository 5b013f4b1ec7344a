#pragma once

#include "runtime/kernels/isa/table.h"

namespace axrun::runtime::AXRUN_ISA {

// The table's entries of this family; contracts in table.h.
void binary(Binary operation, Number type, int64_t count, const void* a, int64_t a_stride, const void* b,
            int64_t b_stride, void* y);
void compare(Comparison operation, Number type, int64_t count, const void* a, int64_t a_stride, const void* b,
             int64_t b_stride, uint8_t* y);
void select(size_t element_bytes, int64_t count, const uint8_t* condition, int64_t condition_stride,
            const void* a, int64_t a_stride, const void* b, int64_t b_stride, void* y);

}  // namespace axrun::runtime::AXRUN_ISA
