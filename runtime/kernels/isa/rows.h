#pragma once

#include "runtime/kernels/isa/table.h"

namespace axrun::runtime::AXRUN_ISA {

// The table's entries of this family; contracts in table.h.
void softmax_row(bool logarithm, int64_t count, const float* x, float* y);
void softmax_columns(bool logarithm, int64_t extent, int64_t inner, int64_t inner0, int64_t inner1,
                     const float* x, float* y);
void normalize_row(bool subtract_mean, int64_t count, const float* x, const float* scale, const float* bias,
                   bool scalar_scale, float epsilon, float* y, float* mean, float* inverse_deviation);
void reduce_rows(Reduction reduction, int64_t rows, int64_t extent, const float* x, float* y);
void reduce_columns(Reduction reduction, int64_t extent, int64_t inner, int64_t inner0, int64_t inner1,
                    const float* x, float* y);

}  // namespace axrun::runtime::AXRUN_ISA
