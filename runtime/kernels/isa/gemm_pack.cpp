#include "runtime/kernels/isa/gemm.h"

namespace axrun::runtime::AXRUN_ISA {
namespace {

/// Four vectors, contiguous along k, side by side: 4x4 transposes.
void interleave_four(const float* source, int64_t stride, int64_t k, int64_t width, float* panel) {
  int64_t j = 0;
  for (; j + 4 <= k; j += 4) {
    __m128 r0 = _mm_loadu_ps(source + j);
    __m128 r1 = _mm_loadu_ps(source + stride + j);
    __m128 r2 = _mm_loadu_ps(source + 2 * stride + j);
    __m128 r3 = _mm_loadu_ps(source + 3 * stride + j);
    _MM_TRANSPOSE4_PS(r0, r1, r2, r3);
    _mm_storeu_ps(panel + j * width, r0);
    _mm_storeu_ps(panel + (j + 1) * width, r1);
    _mm_storeu_ps(panel + (j + 2) * width, r2);
    _mm_storeu_ps(panel + (j + 3) * width, r3);
  }
  for (; j < k; ++j) {
    for (int64_t i = 0; i < 4; ++i) panel[j * width + i] = source[i * stride + j];
  }
}

}  // namespace

void pack_panel(const float* source, int64_t stride, int64_t step, int64_t count, int64_t k, int64_t width,
                float* panel) {
  if (stride == 1 && count == tile_columns && width == tile_columns) {
    for (int64_t j = 0; j < k; ++j, source += step, panel += tile_columns) {
#pragma GCC unroll 4
      for (int64_t i = 0; i < tile_columns; i += lanes) store(panel + i, load(source + i));
    }
    return;
  }
  if (stride == 1) {
    for (int64_t j = 0; j < k; ++j) {
      const float* from = source + j * step;
      float* to = panel + j * width;
      int64_t i = 0;
      for (; i + lanes <= count; i += lanes) store(to + i, load(from + i));
      if (i < count) {
        const Vector last = load(from + i, first_lanes(count - i));
        store(to + i, last, first_lanes(smaller<int64_t>(lanes, width - i)));
        i += lanes;
      }
      for (; i < width; ++i) to[i] = 0.0f;
    }
    return;
  }
  int64_t i = 0;
  if (step == 1) {
    for (; i + 4 <= count; i += 4) interleave_four(source + i * stride, stride, k, width, panel + i);
  }
  for (; i < count; ++i) {
    for (int64_t j = 0; j < k; ++j) panel[j * width + i] = source[i * stride + j * step];
  }
  for (; i < width; ++i) {
    for (int64_t j = 0; j < k; ++j) panel[j * width + i] = 0.0f;
  }
}

void pack_a(int64_t m, int64_t k, const float* a, int64_t row_stride, int64_t column_stride, float* packed) {
  const int64_t height = gemm_panel_rows(m, tile_rows);
  for (int64_t i = 0; i < m; i += height) {
    pack_panel(a + i * row_stride, row_stride, column_stride, smaller(height, m - i), k, height,
               packed + i * k);
  }
}

void pack_b(int64_t k, int64_t n, const float* b, int64_t row_stride, int64_t column_stride, float* packed) {
  for (int64_t j = 0; j < n; j += tile_columns) {
    pack_panel(b + j * column_stride, column_stride, row_stride, smaller<int64_t>(tile_columns, n - j), k,
               tile_columns, packed + j * k);
  }
}

}  // namespace axrun::runtime::AXRUN_ISA
