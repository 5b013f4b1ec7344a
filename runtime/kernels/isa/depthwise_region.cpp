// Depthwise convolution of a region: vectors of a row, one multiply-add per tap that reads the input there,
// as it lies. Padding is neither copied nor multiplied.

#include "runtime/kernels/isa/conv.h"
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

/// The sums over all taps of some vectors of outputs; `mask` where they are narrower than a vector.
template <bool masked>
AXRUN_INLINE void sum_taps(int64_t taps, const int64_t* offsets, const float* weights,
                           const float* (&inputs)[at_once], float* (&sums)[at_once], Mask mask) {
  Vector sum[at_once] = {};
  for (int64_t tap = 0; tap < taps; ++tap) {
    const Vector weight = broadcast(weights[tap]);
#pragma GCC unroll 4
    for (int v = 0; v < at_once; ++v) {
      const float* const from = inputs[v] + offsets[tap];
      sum[v] = fused(weight, masked ? load(from, mask) : load(from), sum[v]);
    }
  }
#pragma GCC unroll 4
  for (int v = 0; v < at_once; ++v) {
    if (masked)
      store(sums[v], sum[v], mask);
    else
      store(sums[v], sum[v]);
  }
}

/// The sums of all outputs of a region of one channel. The last vector of a row overlaps with the one before,
/// and the last vector of all is computed as often as it takes to fill the last turn.
template <bool masked>
void sum_region(int64_t height, int64_t width, int64_t input_width, int64_t taps, const int64_t* offsets,
                const float* weights, const float* input, float* sums) {
  const int64_t last = masked ? 0 : width - lanes;
  const Mask mask = first_lanes(masked ? width : lanes);
  const float* inputs[at_once];
  float* outputs[at_once];
  for (int64_t row = 0, place = 0; row < height;) {
#pragma GCC unroll 4
    for (int v = 0; v < at_once; ++v) {
      inputs[v] = input + place;
      outputs[v] = sums + place;
      if (place < last) {
        place = smaller(place + lanes, last);
      } else if (++row < height) {
        place = 0;
        input += input_width;
        sums += width;
      }
    }
    sum_taps<masked>(taps, offsets, weights, inputs, outputs, mask);
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
      *offset++ = (r.row0 + h * g.dilation_height - g.pad_top) * g.in_width + r.column0 +
                  w * g.dilation_width - g.pad_left;
    }
  }
  const int64_t plane = g.out_height * g.out_width, first = r.row0 * g.out_width + r.column0;
  for (int64_t out_channel = 0; out_channel < cell.channels * cell.multiplier; ++out_channel) {
    const float* const input = cell.x + out_channel / cell.multiplier * g.in_height * g.in_width;
    float* weight = weights;
    for (int64_t h = r.tap_row0; h < r.tap_row1; ++h) {
      for (int64_t w = r.tap_column0; w < r.tap_column1; ++w)
        *weight++ = cell.weights[(out_channel * g.kernel_height + h) * g.kernel_width + w];
    }
    (width < lanes ? sum_region<true> : sum_region<false>)(height, width, g.in_width, layout.taps, offsets,
                                                           weights, input, sums);
    finish_rows(sums, width, height, width, cell.epilogue, out_channel, first,
                cell.y + out_channel * plane + first, g.out_width);
  }
}

}  // namespace axrun::runtime::AXRUN_ISA
