#include "runtime/kernels/isa/pool.h"

#include "runtime/kernels/isa/vector.h"

namespace axrun::runtime::AXRUN_ISA {
namespace {

/// Output positions [first, last) whose tap at `offset` (dilated position minus pad) lies in [0, extent).
struct Range {
  int64_t first, last;
};

Range valid_range(int64_t offset, int64_t stride, int64_t extent, int64_t out) {
  const int64_t first = offset >= 0 ? 0 : smaller(out, divide_up(-offset, stride));
  const int64_t room = extent - offset;
  return {first, room <= 0 ? first : larger(first, smaller(out, divide_up(room, stride)))};
}

/// y[i] = combine(y[i], x[i * stride]); constant strides let the compiler vectorise.
template <class Combine>
AXRUN_INLINE void combine_row(const float* x, int64_t stride, int64_t count, float* y, Combine combine) {
  if (stride == 1) {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) y[i] = combine(y[i], x[i]);
  } else if (stride == 2) {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) y[i] = combine(y[i], x[2 * i]);
  } else {
    for (int64_t i = 0; i < count; ++i) y[i] = combine(y[i], x[i * stride]);
  }
}

/// Folds every window of a plane into y, row by row; then `finish(output row, y row)`.
template <class Combine, class Finish>
AXRUN_INLINE void pool_plane(const PoolCell& p, const float* x, float* y, float start, Combine combine,
                             Finish finish) {
  for (int64_t row = 0; row < p.out_height; ++row, y += p.out_width) {
    for (int64_t i = 0; i < p.out_width; ++i) y[i] = start;
    for (int64_t h = 0; h < p.kernel_height; ++h) {
      const int64_t in_row = row * p.stride_height + h * p.dilation_height - p.pad_top;
      if (in_row < 0 || in_row >= p.in_height) continue;
      for (int64_t w = 0; w < p.kernel_width; ++w) {
        const int64_t offset = w * p.dilation_width - p.pad_left;
        const Range range = valid_range(offset, p.stride_width, p.in_width, p.out_width);
        if (range.first == range.last) continue;
        combine_row(x + in_row * p.in_width + offset + range.first * p.stride_width, p.stride_width,
                    range.last - range.first, y + range.first, combine);
      }
    }
    finish(row, y);
  }
}

/// Taps of the window starting at `start` (padded position minus pad) that lie in [low, end).
int64_t count_taps(int64_t start, int64_t taps, int64_t dilation, int64_t low, int64_t end) {
  int64_t count = 0;
  for (int64_t i = 0; i < taps; ++i) count += start + i * dilation >= low && start + i * dilation < end;
  return count;
}

}  // namespace

void max_pool(const PoolCell& p, const float* x, float* y) {
  pool_plane(
      p, x, y, -__builtin_inff(), [](float best, float value) __attribute__((always_inline)) {
        // Not `value > best`: NaN must win, and stay.
        return best >= value || best != best ? best : value;
      },
      [](int64_t, float*) {});
}

void average_pool(const PoolCell& p, const float* x, float* y) {
  const int64_t low_row = p.include_pad ? -p.pad_top : 0;
  const int64_t low_column = p.include_pad ? -p.pad_left : 0;
  const int64_t end_row = p.include_pad ? p.padded_end_height : p.in_height;
  const int64_t end_column = p.include_pad ? p.padded_end_width : p.in_width;
  pool_plane(
      p, x, y, 0.0f, [](float sum, float value) __attribute__((always_inline)) { return sum + value; },
      [&](int64_t row, float* out) {
        const int64_t rows = count_taps(row * p.stride_height - p.pad_top, p.kernel_height, p.dilation_height,
                                        low_row, end_row);
        for (int64_t i = 0; i < p.out_width; ++i) {
          // Almost all windows are whole; the others are at the ends.
          const int64_t start = i * p.stride_width - p.pad_left;
          const bool whole =
              start >= low_column && start + (p.kernel_width - 1) * p.dilation_width < end_column;
          const int64_t columns =
              whole ? p.kernel_width
                    : count_taps(start, p.kernel_width, p.dilation_width, low_column, end_column);
          out[i] /= static_cast<float>(rows * columns);
        }
      });
}

}  // namespace axrun::runtime::AXRUN_ISA
