#include "runtime/kernels/isa/copy.h"

#include "runtime/kernels/isa/vector.h"

namespace axrun::runtime::AXRUN_ISA {
namespace {

/// Any element size, in squares that keep both sides' cache lines in use.
template <class T>
void transpose_squares(int64_t rows, int64_t columns, const T* x, int64_t x_stride, T* y, int64_t y_stride) {
  constexpr int64_t square = 16;
  for (int64_t i0 = 0; i0 < rows; i0 += square) {
    const int64_t i1 = smaller(rows, i0 + square);
    for (int64_t j0 = 0; j0 < columns; j0 += square) {
      const int64_t j1 = smaller(columns, j0 + square);
      for (int64_t i = i0; i < i1; ++i) {
        for (int64_t j = j0; j < j1; ++j) y[i * y_stride + j] = x[i + j * x_stride];
      }
    }
  }
}

AXRUN_INLINE void transpose_four(const float* x, int64_t x_stride, float* y, int64_t y_stride) {
  __m128 r0 = _mm_loadu_ps(x);
  __m128 r1 = _mm_loadu_ps(x + x_stride);
  __m128 r2 = _mm_loadu_ps(x + 2 * x_stride);
  __m128 r3 = _mm_loadu_ps(x + 3 * x_stride);
  _MM_TRANSPOSE4_PS(r0, r1, r2, r3);
  _mm_storeu_ps(y, r0);
  _mm_storeu_ps(y + y_stride, r1);
  _mm_storeu_ps(y + 2 * y_stride, r2);
  _mm_storeu_ps(y + 3 * y_stride, r3);
}

/// Four bytes: 4x4 register transposes, 16 rows (one cache line of x) at a time.
void transpose_words(int64_t rows, int64_t columns, const float* x, int64_t x_stride, float* y,
                     int64_t y_stride) {
  const int64_t whole_columns = columns / 4 * 4;
  int64_t i = 0;
  for (; i + 4 <= rows; i += 16) {
    const int64_t end = smaller<int64_t>(rows / 4 * 4, i + 16);
    for (int64_t j = 0; j < whole_columns; j += 4) {
      for (int64_t r = i; r < end; r += 4) {
        transpose_four(x + r + j * x_stride, x_stride, y + r * y_stride + j, y_stride);
      }
    }
  }
  const int64_t whole_rows = rows / 4 * 4;
  if (whole_columns < columns) {
    transpose_squares(whole_rows, columns - whole_columns, x + whole_columns * x_stride, x_stride,
                      y + whole_columns, y_stride);
  }
  transpose_squares(rows - whole_rows, columns, x + whole_rows, x_stride, y + whole_rows * y_stride,
                    y_stride);
}

/// Sixteen rows and columns of bytes: unpacking pairs of vectors eight apart four times over.
AXRUN_INLINE void transpose_sixteen(const uint8_t* x, int64_t x_stride, uint8_t* y, int64_t y_stride) {
  __m128i v[16], w[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) v[i] = _mm_loadu_si128(reinterpret_cast<const __m128i_u*>(x + i * x_stride));
#pragma GCC unroll 4
  for (int stage = 0; stage < 4; ++stage) {
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) {
      w[2 * i] = _mm_unpacklo_epi8(v[i], v[i + 8]);
      w[2 * i + 1] = _mm_unpackhi_epi8(v[i], v[i + 8]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) v[i] = w[i];
  }
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) _mm_storeu_si128(reinterpret_cast<__m128i_u*>(y + i * y_stride), v[i]);
}

void transpose_bytes(int64_t rows, int64_t columns, const uint8_t* x, int64_t x_stride, uint8_t* y,
                     int64_t y_stride) {
  const int64_t whole_rows = rows / 16 * 16, whole_columns = columns / 16 * 16;
  for (int64_t i = 0; i < whole_rows; i += 16) {
    for (int64_t j = 0; j < whole_columns; j += 16)
      transpose_sixteen(x + i + j * x_stride, x_stride, y + i * y_stride + j, y_stride);
  }
  if (whole_columns < columns) {
    transpose_squares(whole_rows, columns - whole_columns, x + whole_columns * x_stride, x_stride,
                      y + whole_columns, y_stride);
  }
  transpose_squares(rows - whole_rows, columns, x + whole_rows, x_stride, y + whole_rows * y_stride,
                    y_stride);
}

struct Pair {
  uint64_t low, high;
};

}  // namespace

void transpose_block(size_t element_bytes, int64_t rows, int64_t columns, const void* x, int64_t x_stride,
                     void* y, int64_t y_stride) {
  const auto run = [&]<class T>(T*) {
    transpose_squares(rows, columns, static_cast<const T*>(x), x_stride, static_cast<T*>(y), y_stride);
  };
  switch (element_bytes) {
    case 1:
      return transpose_bytes(rows, columns, static_cast<const uint8_t*>(x), x_stride,
                             static_cast<uint8_t*>(y), y_stride);
    case 2:
      return run(static_cast<uint16_t*>(nullptr));
    case 4:
      return transpose_words(rows, columns, static_cast<const float*>(x), x_stride, static_cast<float*>(y),
                             y_stride);
    case 8:
      return run(static_cast<uint64_t*>(nullptr));
    case 16:
      return run(static_cast<Pair*>(nullptr));
  }
}

}  // namespace axrun::runtime::AXRUN_ISA
