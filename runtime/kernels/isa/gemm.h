#pragma once

#include "runtime/kernels/isa/gemm_tile.h"
#include "runtime/kernels/isa/table.h"

namespace axrun::runtime::AXRUN_ISA {

// The table's entries of this family; contracts in table.h.
int64_t gemm_scratch_floats(const GemmCell& cell);
int64_t gemm_scratch_bound(int64_t n, int64_t k);
void gemm_cell(const GemmCell& cell);
void pack_a(int64_t m, int64_t k, const float* a, int64_t row_stride, int64_t column_stride, float* packed);
void pack_b(int64_t k, int64_t n, const float* b, int64_t row_stride, int64_t column_stride, float* packed);

/// Packs `count` vectors of length k side by side: panel[j * width + i] = source[i * stride + j * step],
/// zeros for i in [count, width).
void pack_panel(const float* source, int64_t stride, int64_t step, int64_t count, int64_t k, int64_t width,
                float* panel);

/// Products with few rows and no packed B (gemv.cpp): one row over B's rows, or dot products over B's
/// columns.
void gemv_rows(const GemmCell& cell);
void gemv_columns(const GemmCell& cell);

}  // namespace axrun::runtime::AXRUN_ISA
