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

/// to[i] = from[i * stride]. The constant stride lets the compiler use shuffles.
void copy_strided(const float* from, int64_t stride, int64_t count, float* to) {
  if (stride == 1) return copy(from, count, to);
  if (stride == 2) {
    for (int64_t i = 0; i < count; ++i) to[i] = from[2 * i];
    return;
  }
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
