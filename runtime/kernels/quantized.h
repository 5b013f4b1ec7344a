#pragma once

#include <cstddef>
#include <cstdint>

namespace axrun::runtime {

class ThreadPool;

enum class Byte : int32_t { u8, i8 };

/// Scale and zero point over X[outer][channels][inner]: channels == 1 is per tensor, inner == 1 per column.
/// `zero_point` holds `channels` bytes of the quantized type, or is null for 0.
struct QuantizationShape {
  int64_t outer = 1, channels = 1, inner = 1;
  const float* scale = nullptr;
  const void* zero_point = nullptr;
};

/// y = saturate(round_half_even(x / scale) + zero_point); NaN gives 0.
void quantize(Byte type, const QuantizationShape& shape, const float* x, void* y, ThreadPool& pool);

/// y = (x - zero_point) * scale.
void dequantize(Byte type, const QuantizationShape& shape, const void* x, float* y, ThreadPool& pool);

/// C[m][n] = sum over k of (A[m][k] - a_zero_point) * (B[k][n] - b_zero_point[n]) in 32-bit integers, exact
/// (modulo 2^32). A has unit column stride; B is packed once.
struct QuantizedGemmArguments {
  int64_t m = 0, n = 0, k = 0;
  Byte a_type = Byte::u8;
  const void* a = nullptr;
  int64_t a_row_stride = 0;
  int32_t a_zero_point = 0;
  const void* packed_b = nullptr;  ///< from quantized_gemm_pack_b, which folds B's type and zero points in
  int32_t* c = nullptr;
  int64_t c_row_stride = 0;
};

size_t quantized_gemm_packed_b_bytes(int64_t k, int64_t n);

/// `zero_points` is [n] values when per_column, else one value; null for 0. Strides in elements.
void quantized_gemm_pack_b(Byte type, int64_t k, int64_t n, const void* b, int64_t row_stride,
                           int64_t column_stride, const int32_t* zero_points, bool per_column, void* packed);

size_t quantized_gemm_scratch_bytes(const QuantizedGemmArguments& arguments, int threads);
void quantized_gemm(const QuantizedGemmArguments& arguments, void* scratch, ThreadPool& pool);

/// Columns [first, last) of a product on the calling thread. `first` is a multiple of gemm_panel_columns(),
/// `last` is one or n. `scratch` has quantized_gemm_scratch_bytes(arguments, 1) bytes.
void quantized_gemm_columns(const QuantizedGemmArguments& arguments, int64_t first, int64_t last,
                            void* scratch);

}  // namespace axrun::runtime
