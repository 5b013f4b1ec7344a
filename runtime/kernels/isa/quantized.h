#pragma once

#include "runtime/kernels/isa/table.h"

namespace axrun::runtime::AXRUN_ISA {

// The table's entries of this family; contracts in table.h.
void quantize_row(Byte type, int64_t count, const float* x, float scale, int32_t zero_point, void* y);
void dequantize_row(Byte type, int64_t count, const void* x, float scale, int32_t zero_point, float* y);
void quantize_columns(Byte type, int64_t count, const float* x, const float* scale, const void* zero_points,
                      void* y);
void dequantize_columns(Byte type, int64_t count, const void* x, const float* scale, const void* zero_points,
                        float* y);
void requantize_row(Byte type, int64_t count, const int32_t* sums, float multiplier, int32_t zero_point,
                    void* y);
int64_t quantized_packed_bytes(int64_t k, int64_t n);
void quantized_pack_b(Byte type, int64_t k, int64_t n, const void* b, int64_t row_stride,
                      int64_t column_stride, const int32_t* zero_points, bool per_column, void* packed);
int64_t quantized_scratch_bytes(const QuantizedGemmCell& cell);
void quantized_cell(const QuantizedGemmCell& cell);

}  // namespace axrun::runtime::AXRUN_ISA
