// Convolution of a region: a matrix product over the taps that read the input there, whose B is gathered
// panel by panel from the input as it lies. Padding is neither copied nor multiplied.

#include "runtime/kernels/isa/conv.h"
#include "runtime/kernels/isa/conv_lanes.h"
#include "runtime/kernels/isa/conv_tile.h"
#include "runtime/kernels/isa/finish_row.h"

namespace axrun::runtime::AXRUN_ISA {
namespace {

constexpr int64_t panel_floats = 5 * 1024;  ///< of a block of terms; stays in the first cache

/// Scratch: a panel of B (writes of whole vectors reach past its end), where B's rows begin in the input, A
/// without the other taps, and the sums of all channels.
struct Layout {
  int64_t taps, columns;
  int64_t block_channels;  ///< gathered at a time
  int64_t panel_floats, offset_floats, weight_floats, result_stride, result_floats;
};

Layout make_layout(const ConvCell& cell, const ConvRegion& r) {
  const int64_t panel_rows = gemm_panel_rows(cell.out_channels, tile_rows);
  const int64_t rows = divide_up(cell.channel1 - cell.channel0, panel_rows) * panel_rows;
  Layout layout = {};
  layout.taps = (r.tap_row1 - r.tap_row0) * (r.tap_column1 - r.tap_column0);
  layout.columns = (r.row1 - r.row0) * (r.column1 - r.column0);
  const int64_t blocks = divide_up(cell.channels * layout.taps, panel_floats / tile_columns);
  layout.block_channels = divide_up(cell.channels, larger<int64_t>(1, smaller(blocks, cell.channels)));
  const int64_t terms = layout.block_channels * layout.taps;
  layout.panel_floats = terms * tile_columns + tile_columns;
  layout.offset_floats = round_up_to_tile(2 * terms);
  layout.weight_floats = round_up_to_tile(rows * terms);
  layout.result_stride = round_up_to_tile(layout.columns);
  layout.result_floats = rows * layout.result_stride;
  return layout;
}

/// Where B's rows begin for the region's first output, from the block's first input plane on.
void find_rows(const ConvGeometry& g, const ConvRegion& r, int64_t channels, int64_t* offsets) {
  for (int64_t channel = 0; channel < channels; ++channel) {
    for (int64_t h = r.tap_row0; h < r.tap_row1; ++h) {
      const int64_t row =
          channel * g.in_height + r.row0 * g.stride_height + h * g.dilation_height - g.pad_top;
      for (int64_t w = r.tap_column0; w < r.tap_column1; ++w) {
        *offsets++ = row * g.in_width + r.column0 * g.stride_width + w * g.dilation_width - g.pad_left;
      }
    }
  }
}

/// The part of a panel of packed weights that the region reads, from its input channel `channel` on.
void pack_taps(const ConvGeometry& g, const ConvRegion& r, const float* panel, int64_t panel_rows,
               int64_t channel, int64_t channels, float* to) {
  const int64_t run = (r.tap_column1 - r.tap_column0) * panel_rows;
  for (int64_t i = channel; i < channel + channels; ++i) {
    for (int64_t h = r.tap_row0; h < r.tap_row1; ++h) {
      const int64_t tap = (i * g.kernel_height + h) * g.kernel_width + r.tap_column0;
      const float* const from = panel + tap * panel_rows;
      for (int64_t j = 0; j < run; ++j) *to++ = from[j];
    }
  }
}

/// Lanes of a panel's rows from `column` on, `from` floats after the region's first output.
struct Part {
  int64_t column, from;
  StridedLanes lanes;
};

struct Parts {
  int64_t count;
  Part parts[2 * tile_columns];
};

/// Of `columns` outputs of the region from `first` on. In order: what one writes past its end is overwritten
/// by the next, and columns that do not exist are zeros.
Parts parts_of(const ConvGeometry& g, const ConvRegion& r, int64_t first, int64_t columns) {
  const int64_t width = r.column1 - r.column0;
  Parts result;
  result.count = 0;
  int64_t row = first / width, place = first - row * width, column = 0, written = 0;
  for (; column < columns; ++row, place = 0) {
    const int64_t count = smaller(columns - column, width - place);
    for (int64_t i = 0; i < count; i += lanes) {
      result.parts[result.count++] = {column + i,
                                      row * g.stride_height * g.in_width + (place + i) * g.stride_width,
                                      strided_lanes(smaller<int64_t>(lanes, count - i), g.stride_width)};
      written = column + i + lanes;
    }
    column += count;
  }
  for (; written < tile_columns; written += lanes)
    result.parts[result.count++] = {written, 0, strided_lanes(0, g.stride_width)};
  return result;
}

template <int stride, int count>
AXRUN_INLINE void gather_parts(const float* x, const int64_t* offsets, int64_t terms, const Part* parts,
                               float* panel) {
  Part own[count];  // in registers: stores might change others
#pragma GCC unroll 4
  for (int i = 0; i < count; ++i) own[i] = parts[i];
  for (int64_t k = 0; k < terms; ++k, panel += tile_columns) {
#pragma GCC unroll 4
    for (int i = 0; i < count; ++i)
      store(panel + own[i].column, load<stride>(x + offsets[k] + own[i].from, own[i].lanes));
  }
}

template <int stride>
void gather_by(const float* x, const int64_t* offsets, int64_t terms, const Parts& parts, float* panel) {
  if (parts.count == 2) return gather_parts<stride, 2>(x, offsets, terms, parts.parts, panel);
  if (parts.count == 3) return gather_parts<stride, 3>(x, offsets, terms, parts.parts, panel);
  if (parts.count == 4) return gather_parts<stride, 4>(x, offsets, terms, parts.parts, panel);
  for (int64_t k = 0; k < terms; ++k, panel += tile_columns) {
    for (int64_t i = 0; i < parts.count; ++i) {
      const Part& part = parts.parts[i];
      store(panel + part.column, load<stride>(x + offsets[k] + part.from, part.lanes));
    }
  }
}

void gather(const float* x, int64_t stride, const int64_t* offsets, int64_t terms, const Parts& parts,
            float* panel) {
  (stride == 1 ? gather_by<1> : stride == 2 ? gather_by<2> : gather_by<0>)(x, offsets, terms, parts, panel);
}

}  // namespace

int64_t conv_region_scratch_floats(const ConvCell& cell, const ConvRegion& region) {
  const Layout layout = make_layout(cell, region);
  return layout.panel_floats + layout.offset_floats + layout.weight_floats + layout.result_floats;
}

void conv_region(const ConvCell& cell, const ConvRegion& r) {
  const ConvGeometry& g = cell.geometry;
  const Layout layout = make_layout(cell, r);
  auto* const offsets = reinterpret_cast<int64_t*>(cell.scratch);
  float* const panel = cell.scratch + layout.offset_floats;
  float* const weights = panel + layout.panel_floats;
  float* const results = weights + layout.weight_floats;
  find_rows(g, r, layout.block_channels, offsets);

  const int64_t panel_rows = gemm_panel_rows(cell.out_channels, tile_rows);
  const int64_t all_taps = g.kernel_height * g.kernel_width;
  Tile tile = conv_tile(cell);
  tile.b = panel;
  tile.b_row_stride = tile_columns;
  tile.c_row_stride = layout.result_stride;
  tile.scale = 1.0f;
  tile.activation = Activation::none;
  for (int64_t channel = 0; channel < cell.channels; channel += layout.block_channels) {
    const int64_t channels = smaller(layout.block_channels, cell.channels - channel);
    tile.k = channels * layout.taps;
    tile.accumulate = channel > 0;
    for (int64_t m = cell.channel0; layout.taps < all_taps && m < cell.channel1; m += panel_rows) {
      pack_taps(g, r, cell.packed_weights + m * cell.channels * all_taps, panel_rows, channel, channels,
                weights + (m - cell.channel0) * tile.k);
    }
    for (int64_t column = 0; column < layout.columns; column += tile_columns) {
      tile.columns = smaller<int64_t>(tile_columns, layout.columns - column);
      gather(cell.x + channel * g.in_height * g.in_width, g.stride_width, offsets, tile.k,
             parts_of(g, r, column, tile.columns), panel);
      for (int64_t m = cell.channel0; m < cell.channel1; m += panel_rows) {
        tile.a = layout.taps < all_taps
                     ? weights + (m - cell.channel0) * tile.k
                     : cell.packed_weights + (m * cell.channels + channel * panel_rows) * all_taps;
        tile.c = results + (m - cell.channel0) * layout.result_stride + column;
        run_tile(AForm::columns, BForm::stride, smaller(panel_rows, cell.channel1 - m), tile);
      }
    }
  }

  const int64_t first = r.row0 * g.out_width + r.column0;
  for (int64_t m = cell.channel0; m < cell.channel1; ++m) {
    finish_rows(results + (m - cell.channel0) * layout.result_stride, r.column1 - r.column0, r.row1 - r.row0,
                r.column1 - r.column0, cell.epilogue, m, first,
                cell.y + m * g.out_height * g.out_width + first, g.out_width);
  }
}

}  // namespace axrun::runtime::AXRUN_ISA
