// Convolution of bytes: strips of words, vectors of flat output positions, register tiles of output channels.
// Words of the strip are four channels' or four columns' bytes (byte_strip.h), so that one step of the
// product adds up four taps.

#include "runtime/kernels/isa/byte_conv.h"

#include "runtime/kernels/isa/byte_conv_pack.h"
#include "runtime/kernels/isa/byte_conv_tile.h"
#include "runtime/kernels/isa/byte_depthwise.h"
#include "runtime/kernels/isa/byte_strip.h"
#include "runtime/kernels/isa/quantize_vector.h"

namespace axrun::runtime::AXRUN_ISA {
namespace {

constexpr int64_t sums_at_once = 4096;  ///< stay in the first cache
constexpr int64_t tile_slack = widest_byte_tile * lanes;

int64_t round_up_to_tile(int64_t n) { return divide_up(n, tile_slack) * tile_slack; }

/// Positions of the strip that are multiplied and finished together: some rows, or part of one.
struct Chunks {
  bool is_flat;  ///< rows follow one another without gaps
  int64_t rows, columns;
  int64_t sums_stride;
};

Chunks make_chunks(const ByteConvCell& cell, const Strip& s, int64_t panel_rows) {
  Chunks chunks = {};
  const int64_t positions = larger(tile_slack, sums_at_once / panel_rows / tile_slack * tile_slack);
  chunks.is_flat = s.width == cell.geometry.out_width;
  if (chunks.is_flat) {
    chunks.columns = positions;
  } else {
    chunks.rows = larger<int64_t>(1, smaller(s.rows, positions / s.width));
    chunks.columns = chunks.rows * s.width;
  }
  chunks.sums_stride = round_up_to_tile(chunks.columns);
  return chunks;
}

/// Scratch: the strip, and words past its end that tiles read; tap offsets; where sums start; sums of the
/// panel's rows and of the input; rows.
struct Layout {
  int64_t strip, offsets, start, sums, input_sums, rows, bytes;
};

Layout make_layout(const ByteConvCell& cell, const WordForm& form, const Strip& s, int64_t panel_rows) {
  const Chunks chunks = make_chunks(cell, s, panel_rows);
  int64_t at = 0;
  const auto take = [&](int64_t bytes) {
    const int64_t here = at;
    at += divide_up(bytes, 64) * 64;
    return here;
  };
  Layout layout = {};
  layout.strip = take((form.planes * s.channel_floats + 2 * tile_slack + 16) * 4);
  layout.offsets = take(form.taps * 8);
  layout.start = take(cell.out_channels * 4);
  layout.sums = take(panel_rows * chunks.sums_stride * 4);
  layout.input_sums = take(chunks.sums_stride * 4);
  layout.rows = take(word_rows_bytes(form, s));
  layout.bytes = at;
  return layout;
}

/// What the cells of a group have in common.
struct Group {
  const ByteConvCell& cell;
  int64_t first_channel;  ///< from the cell's first group on
  PackedConv packed;
  const Strip& strip;
  const Chunks& chunks;
  ByteTile tile;  ///< at the strip's begin
  const uint32_t* start;
  uint32_t* sums;
  uint32_t* input_sums;
  int64_t panel_rows, steps;
};

/// sums -= zero point * input sums.
void apply_zero_point(uint32_t zero_point, const uint32_t* input_sums, int64_t count, uint32_t* sums) {
  const Words zero = broadcast_word(zero_point);
  for (int64_t i = 0; i < count; i += lanes) {
    auto* const at = reinterpret_cast<UnalignedWords*>(sums + i);
    *at = *at - zero * load_words(input_sums + i);
  }
}

/// `rows` rows of `width` sums each, `s.width` apart, to the plane of a channel from position `at` on.
void finish(const ByteConvCell& cell, int64_t channel, const uint32_t* sums, int64_t sums_stride,
            int64_t rows, int64_t width, int64_t at) {
  const auto* const from = reinterpret_cast<const int32_t*>(sums);
  const int64_t place = channel * cell.out_plane + at;
  if (cell.sums == nullptr) {
    const Requantization r = requantization(cell, channel);
    for (int64_t row = 0; row < rows; ++row) {
      if (cell.y != nullptr) {
        requantize_sums(r, width, from + row * sums_stride, cell.y + place + row * width);
      } else {
        scale_sums(r, width, from + row * sums_stride, cell.floats + place + row * width);
      }
    }
    return;
  }
  for (int64_t row = 0; row < rows; ++row) {
    auto* const to = reinterpret_cast<float*>(cell.sums + place + row * width);
    const auto* const bits = reinterpret_cast<const float*>(from + row * sums_stride);
    int64_t i = 0;
    for (; i + lanes <= width; i += lanes) store(to + i, load(bits + i));
    if (i < width) store(to + i, load(bits + i), first_lanes(width - i));
  }
}

/// All channels of positions [first, last) of the strip; they lie at `at` in output planes.
void run_chunk(const Group& g, int64_t first, int64_t last, int64_t rows, int64_t width, int64_t at) {
  const ByteConvCell& cell = g.cell;
  ByteTile tile = g.tile;
  tile.strip += first;
  const int64_t count = last - first;
  static const uint32_t no_start = 0;
  if (g.packed.has_zero_points) {
    tile.weights = g.packed.ones;
    tile.start = &no_start;
    tile.sums = g.input_sums;
    run_byte_tiles(1, count, tile);
  }
  tile.sums = g.sums;
  for (int64_t channel = cell.channel0; channel < cell.channel1; channel += g.panel_rows) {
    const int64_t panel = smaller(g.panel_rows, cell.out_channels - channel);
    tile.weights = g.packed.panels + channel * g.steps;
    tile.start = g.start + channel;
    run_byte_tiles(panel, count, tile);
    for (int64_t i = 0; i < panel; ++i) {
      uint32_t* const sums = g.sums + i * g.chunks.sums_stride;
      const uint32_t zero_point = g.packed.zero_points[channel + i];
      if (zero_point != 0 && g.packed.has_zero_points)
        apply_zero_point(zero_point, g.input_sums, count, sums);
      finish(cell, g.first_channel + channel + i, sums, g.strip.width, rows, width, at);
    }
  }
}

void run_strip(const Group& g, int64_t row0, int64_t rows) {
  const int64_t width = g.cell.geometry.out_width, at = row0 * width;
  if (g.chunks.is_flat) {
    for (int64_t i = 0; i < rows * width; i += g.chunks.columns) {
      const int64_t last = smaller(rows * width, i + g.chunks.columns);
      run_chunk(g, i, last, 1, last - i, at + i);
    }
    return;
  }
  for (int64_t i = 0; i < rows; i += g.chunks.rows) {
    const int64_t these = smaller(g.chunks.rows, rows - i);
    run_chunk(g, i * g.strip.width, (i + these - 1) * g.strip.width + width, these, width, at + i * width);
  }
}

}  // namespace

int64_t byte_conv_packed_words(const ConvGeometry& g, int64_t channels, int64_t out_channels) {
  return packed_conv_words(out_channels, word_form(g, channels).steps());
}

void byte_conv_pack(const ConvGeometry& g, int64_t channels, int64_t out_channels, Byte type,
                    const void* weights, const int32_t* zero_points, uint32_t* packed) {
  const WordForm form = word_form(g, channels);
  const int64_t terms = word_terms(), steps = form.steps(), kernel = g.kernel_height * g.kernel_width;
  const int32_t move = has_bytes() && type == Byte::u8 ? 128 : 0;
  uint32_t* const zeros = packed + 1;
  uint32_t* const offsets = zeros + out_channels;
  uint32_t* const ones = offsets + out_channels;
  uint32_t* const panels = ones + steps;
  const int64_t panel_rows = gemm_panel_rows(out_channels, byte_tile_rows);
  packed[0] = 0;
  for (int64_t o = 0; o < out_channels; ++o) {
    const int32_t zero_point = (zero_points == nullptr ? 0 : zero_points[o]) - move;
    const int64_t first = o / panel_rows * panel_rows;
    const int64_t rows = smaller(panel_rows, out_channels - first);
    uint32_t sum = 0;
    for (int64_t step = 0; step < steps; ++step) {
      const int64_t plane = step / form.taps, row = step % form.taps / form.geometry.kernel_width;
      const int64_t column = step % form.geometry.kernel_width;
      uint32_t word = 0, one = 0;
      for (int64_t t = 0; t < terms; ++t) {
        const int64_t channel = form.of_columns ? plane : plane * terms + t;
        const int64_t w = form.of_columns ? column * terms + t : column;
        if (channel >= channels || w >= g.kernel_width) continue;
        const int64_t at = (o * channels + channel) * kernel + row * g.kernel_width + w;
        const int32_t value = byte_at(type, weights, at) - move;
        sum += static_cast<uint32_t>(value);
        word |= right_factor(value, zero_point, t);
        one |= 1u << (8 * t);
      }
      panels[first * steps + step * rows + o - first] = word;
      ones[step] = one;
    }
    // In the wide form differences are multiplied, and nothing is left to apply.
    zeros[o] = has_bytes() ? static_cast<uint32_t>(zero_point) : 0;
    offsets[o] =
        has_bytes() ? sum - static_cast<uint32_t>(channels * kernel) * static_cast<uint32_t>(zero_point) : 0;
    packed[0] |= zeros[o];
  }
}

int64_t byte_conv_strip_words(const ConvGeometry& g, int64_t channels, int64_t rows) {
  const WordForm form = word_form(g, channels);
  return form.planes * make_strip(form.geometry, rows).channel_floats;
}

int64_t byte_conv_scratch_bytes(const ByteConvCell& cell) {
  const WordForm form = word_form(cell.geometry, cell.channels);
  if (is_byte_depthwise(form, cell.out_channels)) return byte_depthwise_scratch_bytes(cell, form);
  const Strip strip = make_strip(form.geometry, cell.strip_rows);
  return make_layout(cell, form, strip, gemm_panel_rows(cell.out_channels, byte_tile_rows)).bytes;
}

void byte_conv_cell(const ByteConvCell& cell) {
  if (cell.row0 >= cell.row1) return;
  const WordForm form = word_form(cell.geometry, cell.channels);
  if (is_byte_depthwise(form, cell.out_channels)) return byte_depthwise_cell(cell, form);
  Strip strip = make_strip(form.geometry, cell.strip_rows);
  const int64_t panel_rows = gemm_panel_rows(cell.out_channels, byte_tile_rows);
  const Layout layout = make_layout(cell, form, strip, panel_rows);
  Chunks chunks = make_chunks(cell, strip, panel_rows);
  auto* const scratch = static_cast<char*>(cell.scratch);
  auto* const words = reinterpret_cast<uint32_t*>(scratch + layout.strip);
  auto* const offsets = reinterpret_cast<int64_t*>(scratch + layout.offsets);
  auto* const start = reinterpret_cast<uint32_t*>(scratch + layout.start);
  const auto x_zero = static_cast<uint32_t>(cell.x_zero_point + (cell.x_type == Byte::u8 ? 0 : 128));
  const int64_t packed_words = packed_conv_words(cell.out_channels, form.steps());

  ByteInput input = {cell.x_type, cell.x_zero_point, cell.x, cell.x_end, cell.in_plane};
  Group group = {cell,
                 0,
                 {},
                 strip,
                 chunks,
                 {},
                 start,
                 reinterpret_cast<uint32_t*>(scratch + layout.sums),
                 reinterpret_cast<uint32_t*>(scratch + layout.input_sums),
                 panel_rows,
                 form.steps()};
  group.tile.planes = form.planes;
  group.tile.taps = form.taps;
  group.tile.tap_offsets = offsets;
  group.tile.strip = words;
  group.tile.sums_stride = chunks.sums_stride;
  for (int64_t g = 0; g < cell.groups; ++g) {
    group.first_channel = g * cell.out_channels;
    group.packed = unpack(cell.packed + g * packed_words, cell.out_channels, form.steps());
    for (int64_t o = cell.channel0; o < cell.channel1; ++o) {
      const uint32_t bias =
          cell.bias == nullptr ? 0 : static_cast<uint32_t>(cell.bias[group.first_channel + o]);
      start[o] = bias - x_zero * group.packed.offsets[o];
    }
    input.x = cell.x + g * cell.channels * cell.in_plane;
    for (int64_t row = cell.row0; row < cell.row1; row += cell.strip_rows) {
      const int64_t rows = smaller(cell.strip_rows, cell.row1 - row);
      if (rows != strip.rows || (g == 0 && row == cell.row0)) {
        strip = make_strip(form.geometry, rows);
        tap_offsets(strip, offsets);
        group.tile.plane_words = strip.channel_floats;
      }
      fill_words(form, strip, input, row, scratch + layout.rows, words);
      run_strip(group, row, rows);
    }
  }
}

}  // namespace axrun::runtime::AXRUN_ISA
