#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/kernels/activation.h"

namespace axrun::runtime {

class ThreadPool;

/// A two-dimensional convolution X[batch][in_channels][in_height][in_width] ->
/// Y[batch][out_channels][out_height][out_width] with weights W[out_channels][in_channels /
/// groups][kernel_height] [kernel_width], float32, all contiguous. One-dimensional ones have height 1.
///
/// Only the leading pads are given: whatever the output extent makes a window read past the end of the input
/// is zero, so trailing pads follow from it. Pads may be larger than the kernel; negative pads crop.
struct ConvShape {
  int64_t batch = 1, groups = 1;
  int64_t in_channels = 0, in_height = 1, in_width = 1;
  int64_t out_channels = 0, out_height = 1, out_width = 1;
  int64_t kernel_height = 1, kernel_width = 1;
  int64_t stride_height = 1, stride_width = 1;
  int64_t dilation_height = 1, dilation_width = 1;
  int64_t pad_top = 0, pad_left = 0;
};

/// How a convolution is carried out. The packed weights' form follows from it.
enum class ConvMethod : int32_t {
  pointwise,  ///< 1x1, stride 1, no pad: a matrix product over the input as it lies; for few output channels
  implicit_gemm,  ///< matrix product; input windows are gathered panel by panel, or read from strips
  depthwise,      ///< one input channel per group: direct, vectorised along the width
  few_pixels,     ///< few output pixels: vectors of output channels
};

/// The method to use for a shape. Channels, groups and kernel decide whether a method is possible; the
/// spatial extents (which may be guesses when they are not known yet) only which is fastest: weights packed
/// for a method serve every input size that keeps `conv_method_fits`.
ConvMethod choose_conv_method(const ConvShape& shape);
bool conv_method_fits(ConvMethod method, const ConvShape& shape);

size_t conv_packed_bytes(ConvMethod method, const ConvShape& shape);
void conv_pack(ConvMethod method, const ConvShape& shape, const float* weights, float* packed);

/// Scratch in bytes (aligned to 64) for `threads` threads.
size_t conv_scratch_bytes(ConvMethod method, const ConvShape& shape, int threads);

/// Epilogue: row_factor and row_bias are per output channel [out_channels]; residual is a tensor of Y's shape
/// (its row stride is ignored: out_height * out_width); column_factor and column_bias must be null; scale as
/// given.
void conv2d(ConvMethod method, const ConvShape& shape, const float* packed_weights, const float* x, float* y,
            const Epilogue& epilogue, void* scratch, ThreadPool& pool);

/// A transposed convolution X[batch][in_channels][in_h][in_w] -> Y[batch][out_channels][out_h][out_w] with
/// weights W[in_channels][out_channels / groups][kernel_h][kernel_w]: input pixel i contributes to output
/// pixel i * stride - pad + tap * dilation. The shape's fields keep the meaning "in: X, out: Y". An axis has
/// a stride or a dilation larger than 1, not both (conv_transpose_nd takes any). Each of the stride_height *
/// stride_width phases of the output is an ordinary convolution with part of the taps, so dilations must be 1
/// (conv_transpose_nd has no such limit). Epilogue as for conv2d.
size_t conv_transpose_packed_bytes(const ConvShape& shape);
void conv_transpose_pack(const ConvShape& shape, const float* weights, float* packed);
size_t conv_transpose_scratch_bytes(const ConvShape& shape, int threads);
void conv_transpose2d(const ConvShape& shape, const float* packed_weights, const float* x, float* y,
                      const Epilogue& epilogue, void* scratch, ThreadPool& pool);

inline constexpr int max_spatial_rank = 6;

/// Convolution over any number (1 to max_spatial_rank) of spatial dims; the rare case, direct and unpacked.
/// Fields as in ConvShape, outermost spatial dim first.
struct ConvNdShape {
  int spatial_rank = 0;
  int64_t batch = 1, groups = 1, in_channels = 0, out_channels = 0;
  int64_t in_extents[max_spatial_rank] = {}, out_extents[max_spatial_rank] = {};
  int64_t kernel[max_spatial_rank] = {}, strides[max_spatial_rank] = {}, dilations[max_spatial_rank] = {};
  int64_t pads_begin[max_spatial_rank] = {};
};
void conv_nd(const ConvNdShape& shape, const float* weights, const float* x, float* y,
             const Epilogue& epilogue, ThreadPool& pool);
void conv_transpose_nd(const ConvNdShape& shape, const float* weights, const float* x, float* y,
                       const Epilogue& epilogue, ThreadPool& pool);

}  // namespace axrun::runtime
