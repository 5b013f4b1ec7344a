// Depthwise convolution with a channel in each lane: as many planes as a vector has lanes are turned, a pixel
// a vector, into a padded strip, convolved there tap by tap, and turned back. Strides, dilations and pads are
// distances between whole vectors; none is read across cache lines.

#include "runtime/kernels/isa/conv.h"
#include "runtime/kernels/isa/finish_row.h"

namespace axrun::runtime::AXRUN_ISA {
namespace {

/// Scratch, in vectors but for the planes: the padded strip, the weights of each tap, the results; and for an
/// epilogue with a residual, the sums as planes.
struct Layout {
  int64_t height, width;  ///< of the strip
  int64_t strip, taps, pixels;
  int64_t plane_floats;
};

Layout make_layout(const DepthwiseCell& cell) {
  const ConvGeometry& g = cell.geometry;
  const int64_t rows = cell.row1 - cell.row0;
  Layout layout = {};
  layout.height = (rows - 1) * g.stride_height + (g.kernel_height - 1) * g.dilation_height + 1;
  layout.width = (g.out_width - 1) * g.stride_width + (g.kernel_width - 1) * g.dilation_width + 1;
  layout.strip = layout.height * layout.width;
  layout.taps = g.kernel_height * g.kernel_width;
  layout.pixels = rows * g.out_width;
  layout.plane_floats = lanes * layout.pixels;
  return layout;
}

/// Fours of floats, one from each of these places.
AXRUN_INLINE Vector load_fours(const float* const (&from)[lanes / 4]) {
#if defined(AXRUN_ISA_avx512)
  const __m256 low =
      _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(from[0])), _mm_loadu_ps(from[1]), 1);
  const __m256 high =
      _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(from[2])), _mm_loadu_ps(from[3]), 1);
  return _mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1);
#elif defined(AXRUN_ISA_avx2)
  return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(from[0])), _mm_loadu_ps(from[1]), 1);
#else
  return _mm_loadu_ps(from[0]);
#endif
}

AXRUN_INLINE void store_four(float* to, Vector x, [[maybe_unused]] int four) {
#if defined(AXRUN_ISA_avx512)
  _mm_storeu_ps(to, four == 0   ? _mm512_castps512_ps128(x)
                    : four == 1 ? _mm512_extractf32x4_ps(x, 1)
                    : four == 2 ? _mm512_extractf32x4_ps(x, 2)
                                : _mm512_extractf32x4_ps(x, 3));
#elif defined(AXRUN_ISA_avx2)
  _mm_storeu_ps(to, four == 0 ? _mm256_castps256_ps128(x) : _mm256_extractf128_ps(x, 1));
#else
  _mm_storeu_ps(to, x);
#endif
}

/// Transposes the 4x4 matrices that fours at the same place in each are.
AXRUN_INLINE void turn_fours(Vector (&x)[4]) {
#if defined(AXRUN_ISA_avx512)
#define AXRUN_OF(name, ...) _mm512_##name##_ps(__VA_ARGS__)
#elif defined(AXRUN_ISA_avx2)
#define AXRUN_OF(name, ...) _mm256_##name##_ps(__VA_ARGS__)
#else
#define AXRUN_OF(name, ...) _mm_##name##_ps(__VA_ARGS__)
#endif
  const Vector low01 = AXRUN_OF(unpacklo, x[0], x[1]), high01 = AXRUN_OF(unpackhi, x[0], x[1]);
  const Vector low23 = AXRUN_OF(unpacklo, x[2], x[3]), high23 = AXRUN_OF(unpackhi, x[2], x[3]);
  x[0] = AXRUN_OF(shuffle, low01, low23, 0x44);
  x[1] = AXRUN_OF(shuffle, low01, low23, 0xee);
  x[2] = AXRUN_OF(shuffle, high01, high23, 0x44);
  x[3] = AXRUN_OF(shuffle, high01, high23, 0xee);
#undef AXRUN_OF
}

/// to[i][lane] = planes[lane][i] for `count` pixels. Fours overlap at the end.
void turn_in(const float* const (&planes)[lanes], int64_t count, float* to) {
  if (count < 4) {
    for (int64_t i = 0; i < count; ++i) {
      for (int lane = 0; lane < lanes; ++lane) to[i * lanes + lane] = planes[lane][i];
    }
    return;
  }
  for (int64_t i = 0; i < count; i += 4) {
    const int64_t at = smaller(i, count - 4);
    Vector x[4];
#pragma GCC unroll 4
    for (int channel = 0; channel < 4; ++channel) {
      const float* from[lanes / 4];
#pragma GCC unroll 4
      for (int four = 0; four < lanes / 4; ++four) from[four] = planes[4 * four + channel] + at;
      x[channel] = load_fours(from);
    }
    turn_fours(x);
#pragma GCC unroll 4
    for (int pixel = 0; pixel < 4; ++pixel) store(to + (at + pixel) * lanes, x[pixel]);
  }
}

/// to[channel * stride + i] = from[i][channel] for some channels.
void turn_out(const float* from, int64_t count, int64_t channels, float* to, int64_t stride) {
  const int64_t fours = count < 4 ? 0 : channels / 4;
  for (int64_t i = 0; fours > 0 && i < count; i += 4) {
    const int64_t at = smaller(i, count - 4);
    Vector x[4];
#pragma GCC unroll 4
    for (int pixel = 0; pixel < 4; ++pixel) x[pixel] = load(from + (at + pixel) * lanes);
    turn_fours(x);
#pragma GCC unroll 4
    for (int four = 0; four < lanes / 4; ++four) {
      float* const there = to + 4 * four * stride + at;
      if (four >= fours) break;
#pragma GCC unroll 4
      for (int channel = 0; channel < 4; ++channel) store_four(there + channel * stride, x[channel], four);
    }
  }
  for (int64_t channel = 4 * fours; channel < channels; ++channel) {
    for (int64_t i = 0; i < count; ++i) to[channel * stride + i] = from[i * lanes + channel];
  }
}

/// What a lane's channel has of its own, and what is the same for all.
struct Finish {
  Vector scale, bias, low, high;
};

Finish make_finish(const CoreEpilogue& e, int64_t channel, int64_t channels) {
  const bool clips = e.activation == Activation::clip, clamps = clips || e.activation == Activation::relu;
  Finish finish;
  finish.scale = broadcast(e.scale);
  finish.bias = Vector{};
  const Mask mask = first_lanes(channels);
  if (e.row_factor != nullptr) finish.scale *= load(e.row_factor + channel, mask);
  if (e.row_bias != nullptr) finish.bias = load(e.row_bias + channel, mask);
  finish.low = broadcast(clips ? e.alpha : clamps ? 0.0f : -__builtin_inff());
  finish.high = broadcast(clips ? e.beta : __builtin_inff());
  return finish;
}

/// Sums of `count` neighbouring outputs over all taps.
template <int count>
AXRUN_INLINE void sum_pixels(const ConvGeometry& g, int64_t strip_width, const float* from,
                             const float* weights, bool finishes, const Finish& finish, float* to) {
  Vector sums[count] = {};
  const int64_t step = g.stride_width * lanes, next_tap = g.dilation_width * lanes;
  for (int64_t h = 0; h < g.kernel_height; ++h, from += g.dilation_height * strip_width * lanes) {
    const float* at = from;
    for (int64_t w = 0; w < g.kernel_width; ++w, at += next_tap, weights += lanes) {
      const Vector weight = load(weights);
      const float* pixel = at;
#pragma GCC unroll 8
      for (int i = 0; i < count; ++i, pixel += step) sums[i] = fused(weight, load(pixel), sums[i]);
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < count; ++i) {
    Vector value = sums[i];
    if (finishes) value = minimum(finish.high, maximum(finish.low, fused(value, finish.scale, finish.bias)));
    store(to + i * lanes, value);
  }
}

/// A row of outputs, eight or four at a time; the last ones overlap where that is less.
void sum_row(const ConvGeometry& g, int64_t strip_width, const float* from, const float* weights,
             bool finishes, const Finish& finish, float* to) {
  const int64_t step = g.stride_width * lanes;
  const auto run = [&]<int count>(int64_t column) __attribute__((always_inline)) {
    sum_pixels<count>(g, strip_width, from + column * step, weights, finishes, finish, to + column * lanes);
  };
  int64_t column = 0;
  for (; column + 8 <= g.out_width; column += 8) run.template operator()<8>(column);
  const int64_t left = g.out_width - column;
  if (left > 4 && g.out_width >= 8) return run.template operator()<8>(g.out_width - 8);
  if (left >= 4) {
    run.template operator()<4>(column);
    column += 4;
  }
  if (g.out_width - column > 1 && g.out_width >= 4) return run.template operator()<4>(g.out_width - 4);
  for (; column < g.out_width; ++column) run.template operator()<1>(column);
}

}  // namespace

int64_t depthwise_lanes_scratch_floats(const DepthwiseCell& cell) {
  const Layout layout = make_layout(cell);
  return (layout.strip + layout.taps + layout.pixels) * lanes + layout.plane_floats;
}

void depthwise_lanes_cell(const DepthwiseCell& cell) {
  const ConvGeometry& g = cell.geometry;
  const CoreEpilogue& e = cell.epilogue;
  const Layout layout = make_layout(cell);
  float* const strip = cell.scratch;
  float* const weights = strip + layout.strip * lanes;
  float* const results = weights + layout.taps * lanes;
  float* const sums = results + layout.pixels * lanes;
  const int64_t plane = g.out_height * g.out_width, first = cell.row0 * g.out_width;

  // The part of the input that lies in the strip; around it there are zeros.
  const int64_t top = cell.row0 * g.stride_height - g.pad_top;
  const int64_t row0 = larger<int64_t>(0, top), row1 = smaller(g.in_height, top + layout.height);
  const int64_t column0 = larger<int64_t>(0, -g.pad_left);
  const int64_t column1 = smaller(g.in_width, layout.width - g.pad_left);
  for (int64_t i = 0; i < layout.strip; ++i) store(strip + i * lanes, Vector{});

  const bool finishes = e.residual == nullptr;
  const bool activates = e.activation != Activation::none && e.activation != Activation::relu &&
                         e.activation != Activation::clip;
  for (int64_t channel = 0; channel < cell.channels; channel += lanes) {
    const int64_t channels = smaller<int64_t>(lanes, cell.channels - channel);
    const float* planes[lanes];
    // Lanes without a channel repeat the last one.
    const auto lane_of = [&](int lane) { return channel + smaller<int64_t>(lane, channels - 1); };
    for (int lane = 0; lane < lanes; ++lane) planes[lane] = cell.weights + lane_of(lane) * layout.taps;
    turn_in(planes, layout.taps, weights);
    for (int64_t row = row0; row < row1 && column0 < column1; ++row) {
      for (int lane = 0; lane < lanes; ++lane)
        planes[lane] = cell.x + (lane_of(lane) * g.in_height + row) * g.in_width + column0;
      turn_in(planes, column1 - column0, strip + ((row - top) * layout.width + column0 + g.pad_left) * lanes);
    }
    const Finish finish = make_finish(e, channel, channels);
    for (int64_t row = cell.row0; row < cell.row1; ++row) {
      const int64_t at = row - cell.row0;
      sum_row(g, layout.width, strip + at * g.stride_height * layout.width * lanes, weights, finishes, finish,
              results + at * g.out_width * lanes);
    }
    float* const y = cell.y + channel * plane + first;
    if (finishes) {
      if (activates) activate(e.activation, layout.pixels * lanes, results, results, e.alpha, e.beta);
      turn_out(results, layout.pixels, channels, y, plane);
      continue;
    }
    turn_out(results, layout.pixels, channels, sums, layout.pixels);
    for (int64_t i = 0; i < channels; ++i)
      finish_row(sums + i * layout.pixels, layout.pixels, e, channel + i, first, y + i * plane);
  }
}

}  // namespace axrun::runtime::AXRUN_ISA
