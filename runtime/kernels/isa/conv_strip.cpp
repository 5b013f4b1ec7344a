#include "runtime/kernels/isa/conv_strip.h"

namespace axrun::runtime::AXRUN_ISA {
namespace {

void clear(float* to, int64_t count) {
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) store(to + i, Vector{});
  if (i < count) store(to + i, Vector{}, first_lanes(count - i));
}

void copy(const float* from, int64_t count, float* to) {
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) store(to + i, load(from + i));
  if (i < count) {
    const Mask mask = first_lanes(count - i);
    store(to + i, load(from + i, mask), mask);
  }
}

typedef int32_t LaneIndex __attribute__((vector_size(vector_bytes)));

AXRUN_INLINE Vector even_lanes(Vector low, Vector high) {
#if defined(AXRUN_ISA_avx512)
  return __builtin_shuffle(low, high, LaneIndex{0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30});
#elif defined(AXRUN_ISA_avx2)
  return __builtin_shuffle(low, high, LaneIndex{0, 2, 4, 6, 8, 10, 12, 14});
#else
  return __builtin_shuffle(low, high, LaneIndex{0, 2, 4, 6});
#endif
}

void copy_every_second(const float* from, int64_t count, float* to) {
  int64_t i = 0;
  for (; i + lanes < count; i += lanes) {
    store(to + i, even_lanes(load(from + 2 * i), load(from + 2 * i + lanes)));
  }
  if (i >= count) return;
  // The odd element after the last one wanted may not exist.
  const int64_t readable = 2 * (count - i) - 1;
  const Vector low = load(from + 2 * i, first_lanes(smaller<int64_t>(lanes, readable)));
  const Vector high = readable > lanes ? load(from + 2 * i + lanes, first_lanes(readable - lanes)) : Vector{};
  store(to + i, even_lanes(low, high), first_lanes(count - i));
}

/// to[i] = from[i * stride].
AXRUN_INLINE void copy_strided(const float* from, int64_t stride, int64_t count, float* to) {
  if (stride == 1) return copy(from, count, to);
  if (stride == 2) return copy_every_second(from, count, to);
  for (int64_t i = 0; i < count; ++i) to[i] = from[i * stride];
}

}  // namespace

void fill_strip(const Strip& s, int64_t row0, const float* plane, float* to) {
  const ConvGeometry& g = s.g;
  for (int64_t row_phase = 0; row_phase < s.row_phases; ++row_phase) {
    for (int64_t column_phase = 0; column_phase < s.column_phases; ++column_phase) {
      // Columns [first, last) of the phase plane lie inside the input.
      const int64_t shift = column_phase - g.pad_left;
      const int64_t first = shift >= 0 ? 0 : smaller(s.width, divide_up(-shift, g.stride_width));
      const int64_t inside = g.in_width - shift;
      const int64_t last =
          inside <= 0 ? first : larger(first, smaller(s.width, divide_up(inside, g.stride_width)));
      int64_t row = row0 * g.stride_height + row_phase - g.pad_top;
      for (int64_t i = 0; i < s.height; ++i, row += g.stride_height, to += s.width) {
        if (row < 0 || row >= g.in_height || first == last) {
          clear(to, s.width);
          continue;
        }
        for (int64_t j = 0; j < first; ++j) to[j] = 0.0f;
        copy_strided(plane + row * g.in_width + first * g.stride_width + shift, g.stride_width, last - first,
                     to + first);
        for (int64_t j = last; j < s.width; ++j) to[j] = 0.0f;
      }
    }
  }
}

}  // namespace axrun::runtime::AXRUN_ISA
