#pragma once

#include <cstdint>

namespace axrun::runtime {

class ThreadPool;

/// Pooling over windows of X[planes][in_height][in_width] -> Y[planes][out_height][out_width], float32;
/// planes is batch * channels. One-dimensional pooling has height 1. Trailing pads follow from the output
/// extents, so ceil mode is a matter of the caller's out_height and out_width.
struct PoolShape {
  int64_t planes = 0;
  int64_t in_height = 1, in_width = 1, out_height = 1, out_width = 1;
  int64_t kernel_height = 1, kernel_width = 1;
  int64_t stride_height = 1, stride_width = 1;
  int64_t dilation_height = 1, dilation_width = 1;
  int64_t pad_top = 0, pad_left = 0;
  /// The padded input's end, from its first pixel: in_height + the explicit pad_bottom. Taps inside [-pad,
  /// end) count for count_include_pad; taps past it (ceil mode only) never count. Ignored unless
  /// count_include_pad.
  int64_t padded_end_height = 0, padded_end_width = 0;
};

/// Padding never wins; a window with no tap inside the input gives -infinity. NaN wins over numbers.
void max_pool2d(const PoolShape& shape, const float* x, float* y, ThreadPool& pool);

/// Sum of the taps inside the input over their number, or over the number of taps inside the padded input
/// when count_include_pad. A window with no counted tap gives NaN, 0 / 0.
void average_pool2d(const PoolShape& shape, bool count_include_pad, const float* x, float* y,
                    ThreadPool& pool);

/// One value per plane of `plane_size` elements.
void global_average_pool(int64_t planes, int64_t plane_size, const float* x, float* y, ThreadPool& pool);
void global_max_pool(int64_t planes, int64_t plane_size, const float* x, float* y, ThreadPool& pool);

}  // namespace axrun::runtime
