// Convolution as a matrix product whose B is never built: row k of B, a tap of a channel, is the strip read
// from that tap's offset. Where much is computed from each column it is gathered instead (conv_panels.cpp).

#include "runtime/kernels/isa/conv.h"

#include "runtime/kernels/isa/conv_strip.h"
#include "runtime/kernels/isa/conv_tile.h"
#include "runtime/kernels/isa/finish_row.h"

namespace axrun::runtime::AXRUN_ISA {
namespace {

/// Scratch: the strip of all channels (and what a tile reads past its end), the offsets of B's rows, and one
/// panel of results where flat positions include dropped ones.
struct Layout {
  /// Register tiles follow each output row and store where the result belongs. Otherwise they follow flat
  /// positions, across row ends, into `results`, and rows are copied from there.
  bool by_rows;
  int64_t strip_floats, offset_floats, result_stride, result_floats;
};

/// Of register tiles over so many consecutive positions, a step along k: half cycles, where two multiply-adds
/// start in a cycle, and two loads, and a sum waits four cycles for the last one.
int64_t step_cost(int64_t count) {
  const auto tile = [](int64_t vectors) {
    return vectors == 0 ? 0 : larger<int64_t>(larger<int64_t>(tile_rows * vectors, tile_rows + vectors), 8);
  };
  return count / tile_columns * tile(tile_columns / lanes) + tile(divide_up(count % tile_columns, lanes));
}

Layout make_layout(const ConvCell& cell, const Strip& strip) {
  const ConvGeometry& g = cell.geometry;
  Layout layout = {};
  layout.strip_floats = round_up_to_tile(cell.channels * strip.channel_floats + tile_columns);
  const int64_t terms = cell.channels * g.kernel_height * g.kernel_width;
  layout.offset_floats = round_up_to_tile(2 * (terms + offsets_ahead));
  // In steps along k: starting and storing a tile costs about 5, copying rows 10.
  const int64_t rows_cost = strip.rows * step_cost(g.out_width) * (terms + 5);
  const int64_t flat_cost = step_cost(strip.flat) * (terms + (strip.width == g.out_width ? 5 : 15));
  layout.by_rows = rows_cost <= flat_cost;
  if (!layout.by_rows && strip.width != g.out_width) {
    layout.result_stride = round_up_to_tile(strip.flat);
    layout.result_floats = gemm_panel_rows(cell.out_channels, tile_rows) * layout.result_stride;
  }
  return layout;
}

/// Runs tiles over `count` consecutive positions.
void run_tiles(Tile tile, int64_t rows, int64_t count) {
  const bool has_residual = tile.residual != nullptr;
  for (int64_t i = 0; i < count; i += tile_columns) {
    tile.columns = smaller<int64_t>(tile_columns, count - i);
    run_tile(AForm::columns, BForm::offsets, rows, tile);
    tile.b += tile_columns;
    tile.c += tile_columns;
    if (has_residual) tile.residual += tile_columns;
  }
}

}  // namespace

int64_t conv_scratch_floats(const ConvCell& cell) {
  if (cell.block_channels > 0) return conv_panels_scratch_floats(cell);
  // The last rows of an image may be fewer and choose differently: reserve for both choices.
  const Strip strip = make_strip(cell.geometry, cell.row1 - cell.row0);
  const Layout layout = make_layout(cell, strip);
  const int64_t results = gemm_panel_rows(cell.out_channels, tile_rows) * round_up_to_tile(strip.flat);
  return layout.strip_floats + layout.offset_floats + (strip.width == cell.geometry.out_width ? 0 : results);
}

void conv_cell(const ConvCell& cell) {
  if (cell.block_channels > 0) return conv_panels_cell(cell);
  const ConvGeometry& g = cell.geometry;
  const int64_t rows = cell.row1 - cell.row0;
  if (rows <= 0 || g.out_width <= 0) return;
  const Strip strip = make_strip(g, rows);
  const Layout layout = make_layout(cell, strip);
  float* const input = cell.scratch;
  auto* const offsets = reinterpret_cast<int64_t*>(input + layout.strip_floats);
  float* const results = input + layout.strip_floats + layout.offset_floats;

  const int64_t taps = g.kernel_height * g.kernel_width;
  const int64_t k = cell.channels * taps;
  if (k > 0) tap_offsets(strip, offsets);
  for (int64_t channel = 0; channel < cell.channels; ++channel) {
    fill_strip(strip, cell.row0, cell.x + channel * g.in_height * g.in_width,
               input + channel * strip.channel_floats);
    for (int64_t tap = 0; tap < taps; ++tap) {
      offsets[channel * taps + tap] = channel * strip.channel_floats + offsets[tap];
    }
  }
  for (int64_t i = 0; i < offsets_ahead; ++i) offsets[k + i] = k > 0 ? offsets[k - 1] : 0;
  // Lanes past the end are dropped, but must not slow the arithmetic down with stray denormals.
  for (int64_t i = cell.channels * strip.channel_floats; i < layout.strip_floats; ++i) input[i] = 0.0f;

  const int64_t panel_rows = gemm_panel_rows(cell.out_channels, tile_rows);
  const int64_t plane = g.out_height * g.out_width;
  const bool direct = layout.result_floats == 0;
  const CoreEpilogue& e = cell.epilogue;
  Tile tile = conv_tile(cell);
  tile.k = k;
  tile.b_offsets = offsets;
  tile.finish = true;
  if (!direct) {
    tile.scale = 1.0f;
    tile.activation = Activation::none;
    tile.c_row_stride = layout.result_stride;
  }
  for (int64_t m = cell.channel0; m < cell.channel1; m += panel_rows) {
    const int64_t channels = smaller(panel_rows, cell.channel1 - m);
    tile.a = cell.packed_weights + m * k;
    float* const y = cell.y + m * plane + cell.row0 * g.out_width;
    if (direct && e.row_factor != nullptr) tile.row_factor = e.row_factor + m;
    if (direct && e.row_bias != nullptr) tile.row_bias = e.row_bias + m;
    const float* const residual =
        direct && e.residual != nullptr ? e.residual + m * plane + cell.row0 * g.out_width : nullptr;
    const int64_t runs = layout.by_rows ? rows : 1;
    for (int64_t row = 0; row < runs; ++row) {
      tile.b = input + row * strip.width;
      tile.c = direct ? y + row * g.out_width : results;
      tile.residual = residual == nullptr ? nullptr : residual + row * g.out_width;
      run_tiles(tile, channels, layout.by_rows ? g.out_width : strip.flat);
    }
    if (direct) continue;
    for (int64_t i = 0; i < channels; ++i) {
      finish_rows(results + i * layout.result_stride, strip.width, rows, g.out_width, e, m + i,
                  cell.row0 * g.out_width, y + i * plane, g.out_width);
    }
  }
}

}  // namespace axrun::runtime::AXRUN_ISA
