#pragma once

#include "runtime/kernels/isa/quantize_vector.h"
#include "runtime/kernels/isa/table.h"

namespace axrun::runtime::AXRUN_ISA {

/// Packed weights of a group: whether any zero point remains to be applied to the sums; each output channel's
/// zero point and (sum of w) - depth * zero point; a word of ones for each step; panels [step][row].
struct PackedConv {
  const uint32_t* zero_points;
  const uint32_t* offsets;
  const uint32_t* ones;
  const uint32_t* panels;
  bool has_zero_points;
};

static inline PackedConv unpack(const uint32_t* packed, int64_t out_channels, int64_t steps) {
  const uint32_t* const offsets = packed + 1 + out_channels;
  return {packed + 1, offsets, offsets + out_channels, offsets + out_channels + steps, packed[0] != 0};
}

static inline int64_t packed_conv_words(int64_t out_channels, int64_t steps) {
  return 1 + 2 * out_channels + (out_channels + 1) * steps;
}

/// How the sums of a channel, counted from the cell's first group on, become its result.
static inline Requantization requantization(const ByteConvCell& cell, int64_t channel) {
  return {cell.multipliers[channel * cell.multiplier_stride],
          cell.addends == nullptr ? 0.0f : cell.addends[channel], cell.y_zero_point, cell.low, cell.high};
}

}  // namespace axrun::runtime::AXRUN_ISA
