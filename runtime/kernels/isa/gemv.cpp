#include "runtime/kernels/isa/finish_row.h"
#include "runtime/kernels/isa/gemm.h"

namespace axrun::runtime::AXRUN_ISA {
namespace {

/// `rows` x 4 dot products of length k, both sides contiguous.
template <int rows>
AXRUN_INLINE void dot_products(int64_t k, const float* a, int64_t a_stride, const float* b, int64_t b_stride,
                               int columns, float* sums, int64_t sums_stride) {
  Vector sum[rows][4] = {};
  // Missing columns repeat the first one; their sums are not stored.
  const float* column[4];
  for (int j = 0; j < 4; ++j) column[j] = b + (j < columns ? j : 0) * b_stride;
  const auto step = [&](int64_t i, auto read) __attribute__((always_inline)) {
    Vector a_values[rows];
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) a_values[r] = read(a + r * a_stride + i);
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      const Vector value = read(column[j] + i);
#pragma GCC unroll 4
      for (int r = 0; r < rows; ++r) sum[r][j] = fused(a_values[r], value, sum[r][j]);
    }
  };
  int64_t i = 0;
  for (; i + lanes <= k; i += lanes) {
    step(
        i, [](const float* p) __attribute__((always_inline)) { return load(p); });
  }
  if (i < k) {
    const Mask mask = first_lanes(k - i);
    step(
        i, [&](const float* p) __attribute__((always_inline)) { return load(p, mask); });
  }
  for (int r = 0; r < rows; ++r) {
    for (int j = 0; j < columns; ++j) sums[r * sums_stride + j] = sum_lanes(sum[r][j]);
  }
}

#if defined(AXRUN_ISA_avx512)
constexpr int dot_rows = 4;
#else
constexpr int dot_rows = 2;
#endif
constexpr int64_t block = 256;

template <int rows>
void dot_rows_block(const GemmCell& cell, int64_t row) {
  float sums[rows * block];
  const float* a = cell.a.data + row * cell.a.stride;
  for (int64_t n = cell.n0; n < cell.n1; n += block) {
    const int64_t count = smaller(block, cell.n1 - n);
    for (int64_t j = 0; j < count; j += 4) {
      dot_products<rows>(cell.k, a, cell.a.stride, cell.b.data + (n + j) * cell.b.stride, cell.b.stride,
                         static_cast<int>(smaller<int64_t>(4, count - j)), sums + j, block);
    }
    for (int r = 0; r < rows; ++r) {
      finish_row(sums + r * block, count, cell.epilogue, row + r, n,
                 cell.c + (row + r) * cell.c_row_stride + n);
    }
  }
}

}  // namespace

void gemv_columns(const GemmCell& cell) {
  int64_t row = cell.m0;
  for (; row + dot_rows <= cell.m1; row += dot_rows) dot_rows_block<dot_rows>(cell, row);
  if constexpr (dot_rows == 4) {
    if (row + 2 <= cell.m1) {
      dot_rows_block<2>(cell, row);
      row += 2;
    }
  }
  if (row < cell.m1) dot_rows_block<1>(cell, row);
}

void gemv_rows(const GemmCell& cell) {
  // B's rows are read in long runs, four at a time: walking down narrow columns would touch a page per row.
  constexpr int64_t width = 2048;
  alignas(64) float sums[width];
  for (int64_t row = cell.m0; row < cell.m1; ++row) {
    const bool a_columns = cell.a.form == OperandForm::columns;
    const float* a = cell.a.data + (a_columns ? row : row * cell.a.stride);
    const int64_t a_step = a_columns                          ? cell.a.stride
                           : cell.a.form == OperandForm::rows ? 1
                                                              : cell.a.column_stride;
    for (int64_t n = cell.n0; n < cell.n1; n += width) {
      const int64_t count = smaller(width, cell.n1 - n);
      const float* b = cell.b.data + n;
      const int64_t stride = cell.b.stride;
      for (int64_t i = 0; i < count; i += lanes) store(sums + i, Vector{});
      int64_t k = 0;
      for (; k + 4 <= cell.k; k += 4) {
        const Vector a0 = broadcast(a[k * a_step]), a1 = broadcast(a[(k + 1) * a_step]);
        const Vector a2 = broadcast(a[(k + 2) * a_step]), a3 = broadcast(a[(k + 3) * a_step]);
        const float* b0 = b + k * stride;
        const auto add = [&](int64_t i, auto read) __attribute__((always_inline)) {
          Vector even = fused(a0, read(b0 + i), load(sums + i));
          Vector odd = a1 * read(b0 + stride + i);
          even = fused(a2, read(b0 + 2 * stride + i), even);
          odd = fused(a3, read(b0 + 3 * stride + i), odd);
          store(sums + i, even + odd);
        };
        int64_t i = 0;
        for (; i + lanes <= count; i += lanes) {
          add(
              i, [](const float* p) __attribute__((always_inline)) { return load(p); });
        }
        if (i < count) {
          const Mask mask = first_lanes(count - i);
          add(
              i, [&](const float* p) __attribute__((always_inline)) { return load(p, mask); });
        }
      }
      for (; k < cell.k; ++k) {
        const Vector value = broadcast(a[k * a_step]);
        for (int64_t i = 0; i < count; i += lanes) {
          const Mask mask = first_lanes(smaller<int64_t>(lanes, count - i));
          store(sums + i, fused(value, load(b + k * stride + i, mask), load(sums + i)));
        }
      }
      finish_row(sums, count, cell.epilogue, row, n, cell.c + row * cell.c_row_stride + n);
    }
  }
}

}  // namespace axrun::runtime::AXRUN_ISA
