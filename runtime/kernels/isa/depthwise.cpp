// Depthwise convolution of few channels: vectors of flat output positions (conv_strip.h), one multiply-add
// per tap. Others have channels in lanes (depthwise_lanes.cpp).

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
    asm("" : "+r"(from));  // one pointer with constant displacements, not a register per vector
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) sum[v] = fused(weight, load(from + v * lanes), sum[v]);
  }
#pragma GCC unroll 8
  for (int v = 0; v < vectors; ++v) store(sums + v * lanes, sum[v]);
}

/// Sums over all taps for `count` consecutive positions. Writes whole vectors, up to the next multiple of
/// widest * lanes.
void sum_positions(int64_t count, int64_t taps, const int64_t* offsets, const float* weights,
                   const float* input, float* sums) {
  int64_t i = 0;
  for (; i + 4 * lanes < count; i += 8 * lanes) sum_taps<8>(taps, offsets, weights, input + i, sums + i);
  for (; i + lanes < count; i += 4 * lanes) sum_taps<4>(taps, offsets, weights, input + i, sums + i);
  for (; i < count; i += lanes) sum_taps<1>(taps, offsets, weights, input + i, sums + i);
}

/// Wide rows are summed one by one, which keeps the sums in the first cache level; narrow ones all at once.
bool by_rows(const ConvGeometry& g) { return g.out_width >= 6 * lanes; }

}  // namespace

int64_t depthwise_scratch_floats(const DepthwiseCell& cell) {
  const Strip strip = make_strip(cell.geometry, cell.row1 - cell.row0);
  const int64_t taps = cell.geometry.kernel_height * cell.geometry.kernel_width;
  return round_up_to_chunk(strip.channel_floats + widest * lanes) + round_up_to_chunk(2 * taps) +
         round_up_to_chunk(by_rows(cell.geometry) ? cell.geometry.out_width : strip.flat);
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

  for (int64_t i = strip.channel_floats; i < input_floats; ++i) input[i] = 0.0f;
  tap_offsets(strip, offsets);
  const int64_t plane = g.out_height * g.out_width;
  const int64_t first = cell.row0 * g.out_width;
  for (int64_t channel = 0; channel < cell.channels; ++channel) {
    fill_strip(strip, cell.row0, cell.x + channel * g.in_height * g.in_width, input);
    for (int64_t i = 0; i < cell.multiplier; ++i) {
      const int64_t out_channel = channel * cell.multiplier + i;
      const float* const weights = cell.weights + out_channel * taps;
      float* const y = cell.y + out_channel * plane + first;
      if (by_rows(g)) {
        for (int64_t row = 0; row < rows; ++row) {
          const int64_t at = row * g.out_width;
          sum_positions(g.out_width, taps, offsets, weights, input + row * strip.width, sums);
          finish_row(sums, g.out_width, cell.epilogue, out_channel, first + at, y + at);
        }
      } else {
        sum_positions(strip.flat, taps, offsets, weights, input, sums);
        finish_rows(sums, strip.width, rows, g.out_width, cell.epilogue, out_channel, first, y, g.out_width);
      }
    }
  }
}

}  // namespace axrun::runtime::AXRUN_ISA
