// Convolution as a matrix product whose B is never built: row k of B, a tap of a channel, is the strip read
// from that tap's offset.

#include "runtime/kernels/isa/conv.h"

#include "runtime/kernels/isa/conv_strip.h"
#include "runtime/kernels/isa/finish_row.h"
#include "runtime/kernels/isa/gemm_tile.h"

namespace axrun::runtime::AXRUN_ISA {
namespace {

int64_t round_up_to_tile(int64_t n) { return divide_up(n, tile_columns) * tile_columns; }

/// Scratch: the strip of all channels (and what a tile reads past its end), the offsets of B's rows, and one
/// panel of results where flat positions include dropped ones.
struct Layout {
  int64_t strip_floats, offset_floats, result_stride, result_floats;
};

Layout make_layout(const ConvCell& cell, const Strip& strip) {
  Layout layout = {};
  layout.strip_floats = round_up_to_tile(cell.channels * strip.channel_floats + tile_columns);
  const int64_t taps = cell.geometry.kernel_height * cell.geometry.kernel_width;
  layout.offset_floats = round_up_to_tile(2 * cell.channels * taps);
  if (strip.width != cell.geometry.out_width) {
    layout.result_stride = round_up_to_tile(strip.flat);
    layout.result_floats = gemm_panel_rows(cell.out_channels, tile_rows) * layout.result_stride;
  }
  return layout;
}

}  // namespace

int64_t conv_scratch_floats(const ConvCell& cell) {
  const Strip strip = make_strip(cell.geometry, cell.row1 - cell.row0);
  const Layout layout = make_layout(cell, strip);
  return layout.strip_floats + layout.offset_floats + layout.result_floats;
}

void conv_cell(const ConvCell& cell) {
  const ConvGeometry& g = cell.geometry;
  const int64_t rows = cell.row1 - cell.row0;
  if (rows <= 0 || g.out_width <= 0) return;
  const Strip strip = make_strip(g, rows);
  const Layout layout = make_layout(cell, strip);
  float* const input = cell.scratch;
  auto* const offsets = reinterpret_cast<int64_t*>(input + layout.strip_floats);
  float* const results = input + layout.strip_floats + layout.offset_floats;

  int64_t k = 0;
  for (int64_t channel = 0; channel < cell.channels; ++channel) {
    fill_strip(strip, cell.row0, cell.x + channel * g.in_height * g.in_width,
               input + channel * strip.channel_floats);
    for (int64_t h = 0; h < g.kernel_height; ++h) {
      for (int64_t w = 0; w < g.kernel_width; ++w) {
        offsets[k++] = channel * strip.channel_floats + tap_offset(strip, h, w);
      }
    }
  }
  // Lanes past the end are dropped, but must not slow the arithmetic down with stray denormals.
  for (int64_t i = cell.channels * strip.channel_floats; i < layout.strip_floats; ++i) input[i] = 0.0f;

  const int64_t panel_rows = gemm_panel_rows(cell.out_channels, tile_rows);
  const int64_t plane = g.out_height * g.out_width;
  const bool direct = layout.result_floats == 0;
  const CoreEpilogue& e = cell.epilogue;
  Tile tile = {};
  tile.k = k;
  tile.a_stride = panel_rows;
  tile.b_offsets = offsets;
  tile.finish = true;
  tile.scale = direct ? e.scale : 1.0f;
  tile.activation = direct ? e.activation : Activation::none;
  tile.alpha = e.alpha;
  tile.beta = e.beta;
  tile.residual_scale = e.residual_scale;
  tile.residual_row_stride = plane;
  tile.c_row_stride = direct ? plane : layout.result_stride;
  for (int64_t m = cell.channel0; m < cell.channel1; m += panel_rows) {
    const int64_t channels = smaller(panel_rows, cell.channel1 - m);
    tile.a = cell.packed_weights + m * k;
    float* const y = cell.y + m * plane + cell.row0 * g.out_width;
    if (direct && e.row_bias != nullptr) tile.row_bias = e.row_bias + m;
    for (int64_t flat = 0; flat < strip.flat; flat += tile_columns) {
      tile.columns = smaller<int64_t>(tile_columns, strip.flat - flat);
      tile.b = input + flat;
      tile.c = (direct ? y : results) + flat;
      if (direct && e.residual != nullptr)
        tile.residual = e.residual + m * plane + cell.row0 * g.out_width + flat;
      run_tile(AForm::columns, BForm::offsets, channels, tile);
    }
    if (direct) continue;
    for (int64_t i = 0; i < channels; ++i) {
      for (int64_t row = 0; row < rows; ++row) {
        finish_row(results + i * layout.result_stride + row * strip.width, g.out_width, e, m + i,
                   (cell.row0 + row) * g.out_width, y + i * plane + row * g.out_width);
      }
    }
  }
}

}  // namespace axrun::runtime::AXRUN_ISA
