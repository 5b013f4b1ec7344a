// Convolution as a matrix product whose B is gathered panel by panel, a block of channels at a time: a panel
// stays in the first cache while a block of weights, which stays in the second, is multiplied with it.
// Columns are output positions, across the ends of rows.

#include "runtime/kernels/isa/conv.h"
#include "runtime/kernels/isa/conv_strip.h"
#include "runtime/kernels/isa/conv_tile.h"
#include "runtime/kernels/isa/gemm.h"

namespace axrun::runtime::AXRUN_ISA {
namespace {

/// Scratch: the strip of a block of channels, where B's rows begin in it, and a panel. Reads and writes of
/// whole vectors reach past the ends of the first and the last.
struct Layout {
  int64_t strip_floats, offset_floats, panel_floats;
};

constexpr int64_t slack = 2 * tile_columns;

/// Whether every output position reads its own input position: columns lie side by side, and there is no
/// strip.
bool is_pointwise(const ConvGeometry& g) {
  return g.kernel_height == 1 && g.kernel_width == 1 && g.stride_height == 1 && g.stride_width == 1 &&
         g.pad_top == 0 && g.pad_left == 0 && g.in_height == g.out_height && g.in_width == g.out_width;
}

/// Output channels whose weights for a block of terms stay in the second cache: whole panels.
int64_t block_of_weights(int64_t channels, int64_t panel_rows, int64_t terms) {
  constexpr int64_t most_floats = 64 * 1024;
  const int64_t panels = divide_up(channels, panel_rows);
  const int64_t most = larger<int64_t>(1, most_floats / larger<int64_t>(1, terms * panel_rows));
  return divide_up(panels, divide_up(panels, most)) * panel_rows;
}

Layout make_layout(const ConvCell& cell, const Strip& strip) {
  const int64_t terms = cell.block_channels * cell.geometry.kernel_height * cell.geometry.kernel_width;
  if (is_pointwise(cell.geometry)) return {0, 0, terms * tile_columns};
  return {round_up_to_tile(cell.block_channels * strip.channel_floats + slack), round_up_to_tile(2 * terms),
          terms * tile_columns + slack};
}

/// Columns of a panel from `column` on that lie side by side in the strip, `from` floats after the first
/// output position.
struct Piece {
  int64_t column, from;
};

struct Pieces {
  int64_t count;
  Piece pieces[tile_columns];
};

/// Of `columns` output positions from `first` on.
Pieces pieces_of(const Strip& strip, int64_t first, int64_t columns) {
  Pieces result;
  result.count = 0;
  int64_t row = first / strip.g.out_width, place = first - row * strip.g.out_width;
  for (int64_t column = 0; column < columns; ++row, place = 0) {
    result.pieces[result.count++] = {column, row * strip.width + place};
    column += strip.g.out_width - place;
  }
  return result;
}

#if defined(AXRUN_ISA_avx512)

/// A vector of each row of a panel from up to this many pieces, under masks.
constexpr int64_t most_merged = 4;

template <int count>
AXRUN_INLINE void gather_vector(const float* const (&from)[most_merged], const Mask (&masks)[most_merged],
                                const int64_t* offsets, int64_t terms, float* panel) {
  for (int64_t k = 0; k < terms; ++k, panel += tile_columns) {
    Vector values = load(from[0] + offsets[k]);
#pragma GCC unroll 4
    for (int i = 1; i < count; ++i) values = _mm512_mask_loadu_ps(values, masks[i], from[i] + offsets[k]);
    store(panel, values);
  }
}

/// False, and nothing done, where a vector has more pieces.
bool gather_merged(const float* strip, const int64_t* offsets, int64_t terms, const Pieces& pieces,
                   float* panel) {
  const float* from[tile_vectors][most_merged];
  Mask masks[tile_vectors][most_merged];
  int64_t counts[tile_vectors] = {};
  for (int64_t i = 0; i < pieces.count; ++i) {
    const Piece piece = pieces.pieces[i];
    const int64_t end = i + 1 < pieces.count ? pieces.pieces[i + 1].column : tile_columns;
    for (int64_t v = piece.column / lanes; v * lanes < end; ++v) {
      if (counts[v] == most_merged) return false;
      from[v][counts[v]] = strip + piece.from - piece.column + v * lanes;
      const int64_t first = larger<int64_t>(0, piece.column - v * lanes);
      masks[v][counts[v]++] = static_cast<Mask>(0xffffu << first);
    }
  }
  for (int64_t v = 0; v < tile_vectors; ++v) {
    float* const to = panel + v * lanes;
    if (counts[v] == 1) gather_vector<1>(from[v], masks[v], offsets, terms, to);
    if (counts[v] == 2) gather_vector<2>(from[v], masks[v], offsets, terms, to);
    if (counts[v] == 3) gather_vector<3>(from[v], masks[v], offsets, terms, to);
    if (counts[v] == 4) gather_vector<4>(from[v], masks[v], offsets, terms, to);
  }
  return true;
}

#endif

/// Pieces in order, and rows in order: what whole vectors of one write past its end is overwritten by the
/// next.
void gather(const float* strip, const int64_t* offsets, int64_t terms, const Pieces& pieces, float* panel) {
  if (pieces.count == 1) {
    const float* const from = strip + pieces.pieces[0].from;
    for (int64_t k = 0; k < terms; ++k, panel += tile_columns) {
#pragma GCC unroll 4
      for (int64_t c = 0; c < tile_columns; c += lanes) store(panel + c, load(from + offsets[k] + c));
    }
    return;
  }
#if defined(AXRUN_ISA_avx512)
  if (gather_merged(strip, offsets, terms, pieces, panel)) return;
#endif
  for (int64_t k = 0; k < terms; ++k, panel += tile_columns) {
    for (int64_t i = 0; i < pieces.count; ++i) {
      const Piece piece = pieces.pieces[i];
      const float* const from = strip + offsets[k] + piece.from - piece.column;
      for (int64_t c = piece.column; c < tile_columns; c += lanes) store(panel + c, load(from + c));
    }
  }
}

}  // namespace

int64_t conv_panels_scratch_floats(const ConvCell& cell) {
  const Layout layout = make_layout(cell, make_strip(cell.geometry, cell.row1 - cell.row0));
  return layout.strip_floats + layout.offset_floats + layout.panel_floats;
}

void conv_panels_cell(const ConvCell& cell) {
  const ConvGeometry& g = cell.geometry;
  const int64_t rows = cell.row1 - cell.row0, columns = rows * g.out_width;
  if (columns <= 0) return;
  const Strip strip = make_strip(g, rows);
  const Layout layout = make_layout(cell, strip);
  float* const input = cell.scratch;
  auto* const offsets = reinterpret_cast<int64_t*>(input + layout.strip_floats);
  float* const panel = input + layout.strip_floats + layout.offset_floats;
  const bool pointwise = is_pointwise(g);
  const int64_t taps = g.kernel_height * g.kernel_width;
  if (!pointwise) {
    tap_offsets(strip, offsets);
    for (int64_t i = taps; i < cell.block_channels * taps; ++i)
      offsets[i] = offsets[i - taps] + strip.channel_floats;
  }

  const int64_t panel_rows = gemm_panel_rows(cell.out_channels, tile_rows);
  const int64_t in_plane = g.in_height * g.in_width, plane = g.out_height * g.out_width;
  const int64_t start = cell.row0 * g.out_width;
  const CoreEpilogue& e = cell.epilogue;
  Tile tile = conv_tile(cell);
  tile.b = panel;
  tile.b_row_stride = tile_columns;
  for (int64_t channel = 0; channel < cell.channels; channel += cell.block_channels) {
    const int64_t channels = smaller(cell.block_channels, cell.channels - channel);
    const float* const x = cell.x + channel * in_plane;
    if (!pointwise) {
      for (int64_t i = 0; i < channels; ++i)
        fill_strip(strip, cell.row0, x + i * in_plane, input + i * strip.channel_floats);
      // What is read past the end is dropped, but must not slow the arithmetic down with stray denormals.
      for (int64_t i = 0; i < slack; ++i) input[channels * strip.channel_floats + i] = 0.0f;
    }
    tile.k = channels * taps;
    tile.accumulate = channel > 0;
    tile.finish = channel + channels == cell.channels;
    const int64_t block = block_of_weights(cell.channel1 - cell.channel0, panel_rows, tile.k);
    for (int64_t m0 = cell.channel0; m0 < cell.channel1; m0 += block) {
      for (int64_t column = 0; column < columns; column += tile_columns) {
        tile.columns = smaller<int64_t>(tile_columns, columns - column);
        if (pointwise)
          pack_b(tile.k, tile.columns, x + start + column, in_plane, 1, panel);
        else
          gather(input, offsets, tile.k, pieces_of(strip, column, tile.columns), panel);
        for (int64_t m = m0; m < smaller(cell.channel1, m0 + block); m += panel_rows) {
          tile.a = cell.packed_weights + m * cell.channels * taps + channel * taps * panel_rows;
          tile.row_factor = e.row_factor == nullptr ? nullptr : e.row_factor + m;
          tile.row_bias = e.row_bias == nullptr ? nullptr : e.row_bias + m;
          tile.residual = e.residual == nullptr ? nullptr : e.residual + m * plane + start + column;
          tile.c = cell.y + m * plane + start + column;
          run_tile(AForm::columns, BForm::stride, smaller(panel_rows, cell.channel1 - m), tile);
        }
      }
    }
  }
}

}  // namespace axrun::runtime::AXRUN_ISA
