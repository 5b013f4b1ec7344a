#pragma once

#include <limits>

#include "runtime/kernels/conv.h"
#include "runtime/kernels/quantized.h"

namespace axrun::runtime {

/// What a convolution of bytes (a ConvShape whose X and W are bytes) reads and writes besides its packed
/// weights:
///   sums[o] = bias[o] + sum over all taps of (x - x_zero_point) * (w - w_zero_point[o]), exact (modulo
///   2^32);
/// padding is the zero point. The result is the sums, or
///   floats = clamp(sums * multiplier + addend, low, high), rounded after each operation or at its end, or
///   y = saturate(round_half_even(the same) + y_zero_point).
struct ByteConvArguments {
  Byte x_type = Byte::u8;
  const void* x = nullptr;
  int32_t x_zero_point = 0;
  const void* packed = nullptr;
  const int32_t* bias = nullptr;  ///< [out_channels], or null
  int32_t* sums = nullptr;        ///< the one that is not null is the result: sums,
  float* floats = nullptr;        ///< floats
  Byte y_type = Byte::u8;
  void* y = nullptr;  ///< or y
  int32_t y_zero_point = 0;
  const float* multipliers = nullptr;  ///< [out_channels] where per_channel, else one
  bool per_channel = false;
  const float* addends = nullptr;  ///< [out_channels], or null for 0
  float low = -std::numeric_limits<float>::infinity(), high = std::numeric_limits<float>::infinity();
};

/// The packed form depends on channels, groups and kernel alone.
size_t byte_conv_packed_bytes(const ConvShape& shape);
/// Zero points are [out_channels], or null for 0.
void byte_conv_pack(const ConvShape& shape, Byte type, const void* weights, const int32_t* zero_points,
                    void* packed);
/// With as many `threads` as the scratch was asked for, whatever the pool has.
size_t byte_conv_scratch_bytes(const ConvShape& shape, int threads);
void byte_conv(const ConvShape& shape, const ByteConvArguments& arguments, int threads, void* scratch,
               ThreadPool& pool);

}  // namespace axrun::runtime
