// Depthwise convolution: vectors of flat output positions (conv_strip.h), one multiply-add per tap.

#include "runtime/kernels/isa/conv.h"
#include "runtime/kernels/isa/conv_strip.h"
#include "runtime/kernels/isa/finish_row.h"

namespace axrun::runtime::AXRUN_ISA {
namespace {

constexpr int64_t widest = 8;

int64_t round_up_to_chunk(int64_t n) { return divide_up(n, widest * lanes) * widest * lanes; }

/// `vectors` vectors of sums over all taps.
template <int vectors>
AXRUN_INLINE void sum_taps(int64_t taps, const int64_t* offsets, const float* weights, const float* input,
                           float* sums) {
  Vector sum[vectors] = {};
  for (int64_t tap = 0; tap < taps; ++tap) {
    const Vector weight = broadcast(weights[tap]);
    const float* from = input + offsets[tap];
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) sum[v] = fused(weight, load(from + v * lanes), sum[v]);
  }
#pragma GCC unroll 8
  for (int v = 0; v < vectors; ++v) store(sums + v * lanes, sum[v]);
}

}  // namespace

int64_t depthwise_scratch_floats(const DepthwiseCell& cell) {
  const Strip strip = make_strip(cell.geometry, cell.row1 - cell.row0);
  const int64_t taps = cell.geometry.kernel_height * cell.geometry.kernel_width;
  return round_up_to_chunk(strip.channel_floats + widest * lanes) + round_up_to_chunk(2 * taps) +
         round_up_to_chunk(strip.flat);
}

void depthwise_cell(const DepthwiseCell& cell) {
  const ConvGeometry& g = cell.geometry;
  const int64_t rows = cell.row1 - cell.row0;
  if (rows <= 0 || g.out_width <= 0) return;
  const Strip strip = make_strip(g, rows);
  const int64_t taps = g.kernel_height * g.kernel_width;
  float* const input = cell.scratch;
  const int64_t input_floats = round_up_to_chunk(strip.channel_floats + widest * lanes);
  auto* const offsets = reinterpret_cast<int64_t*>(input + input_floats);
  float* const sums = input + input_floats + round_up_to_chunk(2 * taps);

  const int64_t slack_end = smaller(input_floats, strip.channel_floats + widest * lanes);
  for (int64_t i = strip.channel_floats; i < slack_end; ++i) input[i] = 0.0f;
  tap_offsets(strip, offsets);
  const int64_t plane = g.out_height * g.out_width;
  for (int64_t channel = 0; channel < cell.channels; ++channel) {
    fill_strip(strip, cell.row0, cell.x + channel * g.in_height * g.in_width, input);
    for (int64_t i = 0; i < cell.multiplier; ++i) {
      const int64_t out_channel = channel * cell.multiplier + i;
      const float* weights = cell.weights + out_channel * taps;
      int64_t flat = 0;
      for (; flat + 4 * lanes < strip.flat; flat += 8 * lanes) {
        sum_taps<8>(taps, offsets, weights, input + flat, sums + flat);
      }
      for (; flat + lanes < strip.flat; flat += 4 * lanes) {
        sum_taps<4>(taps, offsets, weights, input + flat, sums + flat);
      }
      for (; flat < strip.flat; flat += lanes) sum_taps<1>(taps, offsets, weights, input + flat, sums + flat);
      for (int64_t row = 0; row < rows; ++row) {
        const int64_t at = (cell.row0 + row) * g.out_width;
        finish_row(sums + row * strip.width, g.out_width, cell.epilogue, out_channel, at,
                   cell.y + out_channel * plane + at);
      }
    }
  }
}

}  // namespace axrun::runtime::AXRUN_ISA
