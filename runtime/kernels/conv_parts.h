#pragma once

// What ways to carry out a convolution share: sizes that follow from its shape, and cells.

#include <algorithm>

#include "runtime/kernels/conv.h"
#include "runtime/kernels/core_epilogue.h"
#include "runtime/kernels/gemm.h"
#include "runtime/kernels/isa/table.h"

namespace axrun::runtime {

inline constexpr int64_t conv_work_per_range = 250'000;  ///< multiply-adds, some microseconds
inline constexpr int64_t conv_strip_floats = 96 * 1024;  ///< stay in the second cache level

/// Floats in whole cache lines.
inline int64_t round_up_to_line(int64_t n) { return divide_up(n, 16) * 16; }
inline int64_t taps(const ConvShape& s) { return s.kernel_height * s.kernel_width; }
inline int64_t group_channels(const ConvShape& s) { return s.in_channels / s.groups; }
inline int64_t group_out_channels(const ConvShape& s) { return s.out_channels / s.groups; }
inline int64_t in_plane(const ConvShape& s) { return s.in_height * s.in_width; }
inline int64_t out_plane(const ConvShape& s) { return s.out_height * s.out_width; }
inline bool is_empty(const ConvShape& s) { return s.batch == 0 || s.out_channels == 0 || out_plane(s) == 0; }

inline bool is_pointwise(const ConvShape& s) {
  return taps(s) == 1 && s.stride_height == 1 && s.stride_width == 1 && s.pad_top == 0 && s.pad_left == 0 &&
         s.in_height == s.out_height && s.in_width == s.out_width;
}

/// Output rows per strip of at most `floats` floats, evened out over the image, and no more than `wanted`.
inline int64_t strip_rows(const ConvShape& s, int64_t channels, int64_t floats, int64_t wanted) {
  const int64_t reach_height = (s.kernel_height - 1) * s.dilation_height;
  const int64_t reach_width = (s.kernel_width - 1) * s.dilation_width;
  const double row = static_cast<double>(channels) *
                     static_cast<double>(std::min(s.stride_height, reach_height + 1)) *
                     static_cast<double>(std::min(s.stride_width, reach_width + 1)) *
                     static_cast<double>(s.out_width + reach_width / s.stride_width);
  const auto fitting =
      static_cast<int64_t>(static_cast<double>(floats) / std::max(row, 1.0)) - reach_height / s.stride_height;
  const int64_t rows = std::clamp<int64_t>(std::min(fitting, wanted), 1, s.out_height);
  return divide_up(s.out_height, divide_up(s.out_height, rows));
}

/// Padded input that a strip of so many output rows has of a channel.
inline int64_t strip_of_rows(const ConvShape& s, int64_t rows) {
  return (rows * s.stride_height + (s.kernel_height - 1) * s.dilation_height) *
         (s.out_width * s.stride_width + (s.kernel_width - 1) * s.dilation_width);
}

inline ConvGeometry geometry(const ConvShape& s) {
  return {s.in_height,       s.in_width,       s.out_height,    s.out_width,
          s.kernel_height,   s.kernel_width,   s.stride_height, s.stride_width,
          s.dilation_height, s.dilation_width, s.pad_top,       s.pad_left};
}

/// The epilogue of the planes from `channel` on of image `image`.
inline CoreEpilogue epilogue_at(const ConvShape& s, const Epilogue& e, int64_t image, int64_t channel) {
  CoreEpilogue core = to_core(e);
  core.residual_row_stride = out_plane(s);
  if (core.row_factor != nullptr) core.row_factor += channel;
  if (core.row_bias != nullptr) core.row_bias += channel;
  if (core.residual != nullptr) core.residual += (image * s.out_channels + channel) * out_plane(s);
  return core;
}

inline ConvCell empty_cell(const ConvShape& s) {
  ConvCell cell = {};
  cell.geometry = geometry(s);
  cell.channels = group_channels(s);
  cell.out_channels = group_out_channels(s);
  return cell;
}

/// Points the cell to its operands: those of a group of an image.
inline void place(const ConvShape& s, const float* packed, const float* x, float* y, const Epilogue& epilogue,
                  int64_t image, int64_t group, ConvCell& cell) {
  cell.packed_weights =
      packed + group * static_cast<int64_t>(gemm_packed_a_bytes(cell.out_channels, cell.channels * taps(s)) /
                                            sizeof(float));
  cell.x = x + (image * s.in_channels + group * cell.channels) * in_plane(s);
  cell.y = y + (image * s.out_channels + group * cell.out_channels) * out_plane(s);
  cell.epilogue = epilogue_at(s, epilogue, image, group * cell.out_channels);
}

inline DepthwiseCell depthwise_cell(const ConvShape& s, int64_t rows) {
  DepthwiseCell cell = {};
  cell.geometry = geometry(s);
  cell.multiplier = group_out_channels(s);
  cell.channels = 1;
  cell.row1 = rows;
  return cell;
}

/// Points the cell to its operands: those from a channel of an image on.
inline void place(const ConvShape& s, const float* weights, const float* x, float* y,
                  const Epilogue& epilogue, int64_t image, int64_t channel, DepthwiseCell& cell) {
  const int64_t out_channel = channel * cell.multiplier;
  cell.weights = weights + out_channel * taps(s);
  cell.x = x + (image * s.in_channels + channel) * in_plane(s);
  cell.y = y + (image * s.out_channels + out_channel) * out_plane(s);
  cell.epilogue = epilogue_at(s, epilogue, image, out_channel);
}

/// conv2d for ConvMethod::depthwise (conv_depthwise.cpp).
void run_depthwise(const ConvShape& s, const float* weights, const float* x, float* y,
                   const Epilogue& epilogue, float* scratch, ThreadPool& pool);
size_t depthwise_scratch_bytes(const ConvShape& s, int threads);

/// conv2d for ConvMethod::few_pixels (conv_few_pixels.cpp).
void run_few_pixels(const ConvShape& s, const float* packed, const float* x, float* y,
                    const Epilogue& epilogue, float* scratch, ThreadPool& pool);
size_t few_pixels_scratch_bytes(const ConvShape& s, int threads);

}  // namespace axrun::runtime
