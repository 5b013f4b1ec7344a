#pragma once

#include "runtime/kernels/isa/table.h"

namespace axrun::runtime::AXRUN_ISA {

// The table's entries of this family; contracts in table.h.
void unary(Unary function, int64_t count, const float* x, float* y, float alpha, float beta);
void affine_row(int64_t count, const float* x, float scale, float bias, float* y);
void affine_columns(int64_t count, const float* x, const float* scale, const float* bias, float* y);

}  // namespace axrun::runtime::AXRUN_ISA
