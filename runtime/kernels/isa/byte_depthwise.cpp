// Depthwise convolution of bytes with AVX-512 VNNI. Words hold four columns of a row; those of each four taps
// of a kernel's row have a plane of their own, as wide as the output, so that output positions of all rows
// follow one another without gaps. Sums are finished in registers.

#include "runtime/kernels/isa/byte_depthwise.h"

#include "runtime/kernels/isa/byte_conv_pack.h"
#include "runtime/kernels/isa/byte_rows.h"
#include "runtime/kernels/isa/quantize_vector.h"

namespace axrun::runtime::AXRUN_ISA {
#if defined(AXRUN_ISA_avx512)
namespace {

constexpr int64_t most_outputs = 2;  ///< per input channel; more are faster as tiles of several rows
constexpr int64_t slack = 5 * lanes;

/// Planes [row phase][word of the kernel's row] of so many output rows.
struct Planes {
  int64_t row_phases, columns, height, plane;
  int64_t chunks;  ///< of a row

  Planes(const WordForm& form, int64_t rows) {
    const ConvGeometry& g = form.geometry;
    const int64_t reach = (g.kernel_height - 1) * g.dilation_height;
    row_phases = smaller(g.stride_height, reach + 1);
    columns = g.kernel_width;
    height = rows + reach / g.stride_height;
    plane = height * g.out_width;
    chunks = divide_up(g.out_width, words_at_once);
  }
  int64_t words() const { return row_phases * columns * plane; }
};

/// Scratch: planes of two channels; offsets of taps; masks of rows' chunks.
int64_t buffer_words(const Planes& planes) { return divide_up(planes.words() + slack, 16) * 16; }

struct Layout {
  int64_t offsets, masks, bytes;

  Layout(const WordForm& form, const Planes& planes) {
    offsets = 2 * buffer_words(planes) * 4;
    masks = offsets + divide_up(form.taps * 8, 64) * 64;
    bytes = masks + divide_up(planes.columns * planes.chunks * 8, 64) * 64;
  }
};

void find_offsets(const WordForm& form, const Planes& planes, int64_t* offsets) {
  const ConvGeometry& g = form.geometry;
  for (int64_t h = 0; h < g.kernel_height; ++h) {
    const int64_t at = h * g.dilation_height, row = at / g.stride_height, phase = at % g.stride_height;
    for (int64_t w = 0; w < planes.columns; ++w)
      *offsets++ = (phase * planes.columns + w) * planes.plane + row * g.out_width;
  }
}

void fill_planes(const WordForm& form, const Planes& planes, const NeighbourWords& words, __m512i padding,
                 const uint64_t* masks, const uint8_t* x, int64_t row0, uint32_t* to) {
  const ConvGeometry& g = form.geometry;
  for (int64_t phase = 0; phase < planes.row_phases; ++phase) {
    for (int64_t w = 0; w < planes.columns; ++w) {
      const uint64_t* const row_masks = masks + w * planes.chunks;
      int64_t row = row0 * g.stride_height + phase - g.pad_top;
      const uint8_t* from = x + row * g.in_width - g.pad_left + w * 4;
      // Rows are written in order: what lands past the end of one is overwritten.
      for (int64_t i = 0; i < planes.height; ++i) {
        if (row >= 0 && row < g.in_height) {
          for (int64_t c = 0; c < planes.chunks; ++c) {
            _mm512_storeu_si512(to + c * words_at_once,
                                words.read(from + c * words_at_once * words.stride, row_masks[c]));
          }
        } else {
          for (int64_t c = 0; c < planes.chunks; ++c) _mm512_storeu_si512(to + c * words_at_once, padding);
        }
        row += g.stride_height;
        from += g.stride_height * g.in_width;
        to += g.out_width;
      }
    }
  }
}

/// One output channel.
struct Output {
  int64_t taps;
  const int64_t* offsets;
  const uint32_t *weights, *ones;  ///< weights of a tap are `weight_stride` apart
  int64_t weight_stride;
  uint32_t start, zero_point;
  int32_t* sums;
  float* floats;
  uint8_t* y;
  Requantization requantization;
};

/// Positions from `at` on, the last of which is count - 1.
template <int vectors, bool zero_points>
AXRUN_INLINE void run_positions(const Output& o, const uint32_t* words, int64_t at, int64_t count) {
  Words sums[vectors], inputs[vectors] = {};
#pragma GCC unroll 4
  for (int v = 0; v < vectors; ++v) sums[v] = broadcast_word(o.start);
  for (int64_t tap = 0; tap < o.taps; ++tap) {
    const uint32_t* from = words + o.offsets[tap] + at;
    asm("" : "+r"(from));  // one pointer with constant displacements, not a register per vector
    const Words weight = broadcast_word(o.weights[tap * o.weight_stride]);
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      const Words value = load_words(from + v * lanes);
      sums[v] = dot_bytes(sums[v], value, weight);
      if (zero_points) inputs[v] = dot_bytes(inputs[v], value, broadcast_word(o.ones[tap]));
    }
  }
#pragma GCC unroll 4
  for (int v = 0; v < vectors; ++v) {
    if (zero_points) sums[v] -= broadcast_word(o.zero_point) * inputs[v];
    const int64_t here = at + v * lanes, left = smaller<int64_t>(lanes, count - here);
    if (left <= 0) return;
    const auto values = reinterpret_cast<IntVector>(sums[v]);
    if (o.y != nullptr) {
      store_bytes(o.requantization(values), left, o.y + here);
    } else if (o.floats != nullptr) {
      store(o.floats + here, o.requantization.floats(values), first_lanes(left));
    } else {
      store(reinterpret_cast<float*>(o.sums + here), as_float(values), first_lanes(left));
    }
  }
}

template <bool zero_points>
void run_output(const Output& o, const uint32_t* words, int64_t count) {
  int64_t at = 0;
  for (; count - at > 2 * lanes; at += 4 * lanes) run_positions<4, zero_points>(o, words, at, count);
  for (; count - at > lanes; at += 2 * lanes) run_positions<2, zero_points>(o, words, at, count);
  for (; count - at > 0; at += lanes) run_positions<1, zero_points>(o, words, at, count);
}

}  // namespace

bool is_byte_depthwise(const WordForm& form, int64_t out_channels) {
  return has_bytes() && form.of_columns && form.channels == 1 && form.dilation == 1 &&
         form.geometry.stride_width <= widest_neighbours_stride && out_channels <= most_outputs;
}

int64_t byte_depthwise_scratch_bytes(const ByteConvCell& cell, const WordForm& form) {
  return Layout(form, Planes(form, cell.strip_rows)).bytes;
}

void byte_depthwise_cell(const ByteConvCell& cell, const WordForm& form) {
  const ConvGeometry& g = form.geometry;
  const Layout layout(form, Planes(form, cell.strip_rows));
  auto* const both = static_cast<uint32_t*>(cell.scratch);
  auto* const offsets = reinterpret_cast<int64_t*>(static_cast<char*>(cell.scratch) + layout.offsets);
  auto* const masks = reinterpret_cast<uint64_t*>(static_cast<char*>(cell.scratch) + layout.masks);
  const uint8_t flip = cell.x_type == Byte::u8 ? 0 : 0x80;
  const auto x_zero = static_cast<uint8_t>(cell.x_zero_point);
  const NeighbourWords neighbours(g.stride_width, x_zero, flip);
  const __m512i padding = _mm512_xor_si512(neighbours.padding, neighbours.flips);
  const uint32_t moved_zero = static_cast<uint32_t>(cell.x_zero_point + (flip == 0 ? 0 : 128));
  const int64_t packed_words = packed_conv_words(cell.out_channels, form.taps);
  const int64_t out_row = g.out_width;
  for (int64_t row = cell.row0; row < cell.row1; row += cell.strip_rows) {
    const int64_t rows = smaller(cell.strip_rows, cell.row1 - row);
    const Planes planes(form, rows);
    find_offsets(form, planes, offsets);
    for (int64_t w = 0; w < planes.columns; ++w) {
      const RowSource source = {cell.x, g.pad_left, g.pad_left + g.in_width};
      for (int64_t c = 0; c < planes.chunks; ++c)
        masks[w * planes.chunks + c] = neighbours.mask(source.from(4 * w), c * words_at_once);
    }
    const auto fill = [&](int64_t group) {
      fill_planes(form, planes, neighbours, padding, masks, cell.x + group * cell.in_plane, row,
                  both + group % 2 * buffer_words(planes));
    };
    // A channel ahead: words that were just written would have to reach the cache first.
    fill(0);
    for (int64_t group = 0; group < cell.groups; ++group) {
      if (group + 1 < cell.groups) fill(group + 1);
      const uint32_t* const words = both + group % 2 * buffer_words(planes);
      const PackedConv packed = unpack(cell.packed + group * packed_words, cell.out_channels, form.taps);
      for (int64_t i = 0; i < cell.out_channels; ++i) {
        const int64_t channel = group * cell.out_channels + i;
        const int64_t at = channel * cell.out_plane + row * out_row;
        const uint32_t bias = cell.bias == nullptr ? 0 : static_cast<uint32_t>(cell.bias[channel]);
        const Output output = {
            form.taps,
            offsets,
            packed.panels + i,
            packed.ones,
            cell.out_channels,
            bias - moved_zero * packed.offsets[i],
            packed.zero_points[i],
            cell.sums == nullptr ? nullptr : cell.sums + at,
            cell.floats == nullptr ? nullptr : cell.floats + at,
            cell.y == nullptr ? nullptr : cell.y + at,
            cell.sums == nullptr ? requantization(cell, channel) : Requantization(Byte::u8, 1.0f, 0)};
        if (packed.zero_points[i] != 0) {
          run_output<true>(output, words, rows * out_row);
        } else {
          run_output<false>(output, words, rows * out_row);
        }
      }
    }
  }
}
#else
bool is_byte_depthwise(const WordForm&, int64_t) { return false; }
int64_t byte_depthwise_scratch_bytes(const ByteConvCell&, const WordForm&) { return 0; }
void byte_depthwise_cell(const ByteConvCell&, const WordForm&) {}
#endif

}  // namespace axrun::runtime::AXRUN_ISA
