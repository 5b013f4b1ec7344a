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

/// Lanes [first, last) of a vector of inputs `stride` apart, 1 or 2; the others are not read.
template <int stride>
AXRUN_INLINE Vector load_lanes(const float* from, int64_t first, int64_t last) {
  if (stride == 1) return first == 0 && last == lanes ? load(from) : load_window(from, first, last);
  const int64_t begin = 2 * first, end = larger(begin, 2 * last - 1);
  const auto within = [](int64_t i) __attribute__((always_inline)) {
    return larger<int64_t>(0, smaller<int64_t>(i, lanes));
  };
  return every_second<0>(load_window(from, within(begin), within(end)),
                         load_window(from + lanes, within(begin - lanes), within(end - lanes)));
}

/// The output row whose window begins at input row `in_row`, a vector at a time. Taps in the padding leave
/// what is there: `start` does not change it.
template <int stride, class Combine>
AXRUN_INLINE void pool_row(const PoolCell& p, const float* x, int64_t in_row, float* y, Vector start,
                           Combine combine) {
  for (int64_t i = 0; i < p.out_width; i += lanes) {
    Vector result = start;
    const int64_t count = smaller<int64_t>(lanes, p.out_width - i);
    for (int64_t h = 0; h < p.kernel_height; ++h) {
      const int64_t row = in_row + h * p.dilation_height;
      if (row < 0 || row >= p.in_height) continue;
      for (int64_t w = 0; w < p.kernel_width; ++w) {
        const int64_t column = i * stride + w * p.dilation_width - p.pad_left;
        // Lanes whose column, `stride` apart, lies in the input.
        const int64_t first = column >= 0 ? 0 : smaller(count, (-column + stride - 1) / stride);
        const int64_t room = p.in_width - column;
        const int64_t last = room <= 0 ? first : larger(first, smaller(count, (room + stride - 1) / stride));
        if (first == last) continue;
        Vector values = load_lanes<stride>(x + row * p.in_width + column, first, last);
        if (first > 0 || last < count) values = blend_window(values, first, last, start);
        result = combine(result, values);
      }
    }
    store(y + i, result, first_lanes(count));
  }
}

/// The same for any stride.
template <class Combine>
AXRUN_INLINE void pool_row_apart(const PoolCell& p, const float* x, int64_t in_row, float* y, Vector start,
                                 Combine combine) {
  for (int64_t i = 0; i < p.out_width; ++i) y[i] = start[0];
  for (int64_t h = 0; h < p.kernel_height; ++h) {
    const int64_t row = in_row + h * p.dilation_height;
    if (row < 0 || row >= p.in_height) continue;
    for (int64_t w = 0; w < p.kernel_width; ++w) {
      const int64_t offset = w * p.dilation_width - p.pad_left;
      const Range range = valid_range(offset, p.stride_width, p.in_width, p.out_width);
      const float* const from = x + row * p.in_width + offset;
      for (int64_t i = range.first; i < range.last; ++i)
        y[i] = combine(broadcast(y[i]), broadcast(from[i * p.stride_width]))[0];
    }
  }
}

/// Folds every window of a plane into y, row by row; then `finish(output row, y row)`.
template <class Combine, class Finish>
AXRUN_INLINE void pool_plane(const PoolCell& p, const float* x, float* y, float start, Combine combine,
                             Finish finish) {
  const Vector first = broadcast(start);
  for (int64_t row = 0; row < p.out_height; ++row, y += p.out_width) {
    const int64_t in_row = row * p.stride_height - p.pad_top;
    if (p.stride_width == 1)
      pool_row<1>(p, x, in_row, y, first, combine);
    else if (p.stride_width == 2)
      pool_row<2>(p, x, in_row, y, first, combine);
    else
      pool_row_apart(p, x, in_row, y, first, combine);
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
      p, x, y, -__builtin_inff(), [](Vector best, Vector value) __attribute__((always_inline)) {
        // Not `value > best`: NaN must win, and stay.
        return (best >= value) | (best != best) ? best : value;
      },
      [](int64_t, float*) {});
}

void average_pool(const PoolCell& p, const float* x, float* y) {
  const int64_t low_row = p.include_pad ? -p.pad_top : 0;
  const int64_t low_column = p.include_pad ? -p.pad_left : 0;
  const int64_t end_row = p.include_pad ? p.padded_end_height : p.in_height;
  const int64_t end_column = p.include_pad ? p.padded_end_width : p.in_width;
  pool_plane(
      p, x, y, 0.0f, [](Vector sum, Vector value) __attribute__((always_inline)) { return sum + value; },
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
