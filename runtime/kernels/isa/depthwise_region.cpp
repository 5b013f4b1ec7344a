// Depthwise convolution of a region: vectors of a row, one multiply-add per tap that reads the input there,
// as it lies. Padding is neither copied nor multiplied.

#include "runtime/kernels/isa/conv.h"
#include "runtime/kernels/isa/conv_lanes.h"
#include "runtime/kernels/isa/finish_row.h"

namespace axrun::runtime::AXRUN_ISA {
namespace {

/// Scratch: the sums of a channel, where the taps read for the region's first output, and their weights.
struct Layout {
  int64_t taps, tap_floats, sum_floats;
};

Layout make_layout(const ConvRegion& r) {
  const int64_t taps = (r.tap_row1 - r.tap_row0) * (r.tap_column1 - r.tap_column0);
  return {taps, divide_up(taps, lanes) * lanes,
          divide_up((r.row1 - r.row0) * (r.column1 - r.column0), lanes) * lanes};
}

constexpr int at_once = 4;

/// How a vector of outputs' inputs are read.
enum class Reading {
  whole,  ///< one after another, as many as a vector has
  few,    ///< one after another
  pairs,  ///< every second one
  apart,
};

template <Reading reading>
AXRUN_INLINE Vector read(const float* from, const StridedLanes& inputs) {
  if (reading == Reading::whole) return load(from);
  return load < reading == Reading::few ? 1 : reading == Reading::pairs ? 2 : 0 > (from, inputs);
}

/// The sums over all taps of some vectors of outputs.
template <Reading reading>
AXRUN_INLINE void sum_taps(int64_t taps, const int64_t* offsets, const float* weights,
                           const float* (&inputs)[at_once], const StridedLanes& of_vector, Mask mask,
                           float* (&sums)[at_once]) {
  Vector sum[at_once] = {};
  for (int64_t tap = 0; tap < taps; ++tap) {
    const Vector weight = broadcast(weights[tap]);
#pragma GCC unroll 4
    for (int v = 0; v < at_once; ++v)
      sum[v] = fused(weight, read<reading>(inputs[v] + offsets[tap], of_vector), sum[v]);
  }
#pragma GCC unroll 4
  for (int v = 0; v < at_once; ++v) {
    if (reading == Reading::whole)
      store(sums[v], sum[v]);
    else
      store(sums[v], sum[v], mask);
  }
}

/// The sums of all outputs of a region of one channel. The last vector of a row overlaps with the one before,
/// and the last vector of all is computed as often as it takes to fill the last turn.
template <Reading reading>
void sum_region(const ConvGeometry& g, int64_t height, int64_t width, int64_t taps, const int64_t* offsets,
                const float* weights, const float* input, float* sums) {
  const int64_t count = smaller<int64_t>(width, lanes), last = width - count;
  const StridedLanes of_vector = strided_lanes(count, g.stride_width);
  const Mask mask = first_lanes(count);
  const int64_t stride = g.stride_width, row_stride = g.stride_height * g.in_width;
  const float* inputs[at_once];
  float* outputs[at_once];
  for (int64_t row = 0, place = 0; row < height;) {
#pragma GCC unroll 4
    for (int v = 0; v < at_once; ++v) {
      inputs[v] = input + place * stride;
      outputs[v] = sums + place;
      if (place < last) {
        place = smaller(place + lanes, last);
      } else if (++row < height) {
        place = 0;
        input += row_stride;
        sums += width;
      }
    }
    sum_taps<reading>(taps, offsets, weights, inputs, of_vector, mask, outputs);
  }
}

}  // namespace

int64_t depthwise_region_scratch_floats(const ConvRegion& region) {
  const Layout layout = make_layout(region);
  return 3 * layout.tap_floats + layout.sum_floats;
}

void depthwise_region(const DepthwiseCell& cell, const ConvRegion& r) {
  const ConvGeometry& g = cell.geometry;
  const Layout layout = make_layout(r);
  auto* const offsets = reinterpret_cast<int64_t*>(cell.scratch);
  float* const weights = cell.scratch + 2 * layout.tap_floats;
  float* const sums = weights + layout.tap_floats;
  const int64_t height = r.row1 - r.row0, width = r.column1 - r.column0;
  int64_t* offset = offsets;
  for (int64_t h = r.tap_row0; h < r.tap_row1; ++h) {
    for (int64_t w = r.tap_column0; w < r.tap_column1; ++w) {
      *offset++ = (r.row0 * g.stride_height + h * g.dilation_height - g.pad_top) * g.in_width +
                  r.column0 * g.stride_width + w * g.dilation_width - g.pad_left;
    }
  }
  const auto sum = g.stride_width > 2    ? sum_region<Reading::apart>
                   : g.stride_width == 2 ? sum_region<Reading::pairs>
                   : width < lanes       ? sum_region<Reading::few>
                                         : sum_region<Reading::whole>;
  const int64_t plane = g.out_height * g.out_width, first = r.row0 * g.out_width + r.column0;
  for (int64_t out_channel = 0; out_channel < cell.channels * cell.multiplier; ++out_channel) {
    const float* const input = cell.x + out_channel / cell.multiplier * g.in_height * g.in_width;
    float* weight = weights;
    for (int64_t h = r.tap_row0; h < r.tap_row1; ++h) {
      for (int64_t w = r.tap_column0; w < r.tap_column1; ++w)
        *weight++ = cell.weights[(out_channel * g.kernel_height + h) * g.kernel_width + w];
    }
    sum(g, height, width, layout.taps, offsets, weights, input, sums);
    finish_rows(sums, width, height, width, cell.epilogue, out_channel, first,
                cell.y + out_channel * plane + first, g.out_width);
  }
}

}  // namespace axrun::runtime::AXRUN_ISA
