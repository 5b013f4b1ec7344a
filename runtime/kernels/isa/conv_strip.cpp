#include "runtime/kernels/isa/conv_strip.h"

namespace axrun::runtime::AXRUN_ISA {
namespace {

void clear(float* to, int64_t count) {
  for (int64_t i = 0; i < count; i += lanes) {
    store(to + i, Vector{}, first_lanes(smaller<int64_t>(lanes, count - i)));
  }
}

/// to[i] = from[i] for i in [first, last), 0 elsewhere in [0, count). Writes whole vectors: there is one
/// column phase and rows are filled in order, so what lands past a row's end is overwritten by the next row,
/// or lies in the slack after the strip.
void copy_padded(const float* from, int64_t first, int64_t last, int64_t count, float* to) {
  for (int64_t i = 0; i < count; i += lanes) {
    if (i >= first && i + lanes <= last) {
      store(to + i, load(from + i));
      continue;
    }
    const int64_t begin = smaller<int64_t>(lanes, larger<int64_t>(0, first - i));
    const int64_t end = smaller<int64_t>(lanes, larger<int64_t>(begin, last - i));
    store(to + i, load_window(from + i, begin, end));
  }
}

/// Splits a row into its even and odd elements, `count` each (odd may be null): from[i] counts for i in
/// [first, last), zeros elsewhere. With past_end whole vectors are written: what lands past the row's end is
/// overwritten by the next ones.
void split_padded(const float* from, int64_t first, int64_t last, int64_t count, bool past_end, float* even,
                  float* odd) {
  const auto read = [&](int64_t i) __attribute__((always_inline)) {
    const int64_t begin = smaller<int64_t>(lanes, larger<int64_t>(0, first - i));
    const int64_t end = smaller<int64_t>(lanes, larger<int64_t>(begin, last - i));
    return load_window(from + i, begin, end);
  };
  const auto write = [&](int64_t i, Vector low, Vector high) __attribute__((always_inline)) {
    store(even + i, every_second<0>(low, high));
    if (odd != nullptr) store(odd + i, every_second<1>(low, high));
  };
  const int64_t whole = past_end ? count : count - count % lanes;
  int64_t i = 0;
  for (; i < whole && 2 * i < first; i += lanes) write(i, read(2 * i), read(2 * i + lanes));
  for (; i < whole && 2 * (i + lanes) <= last; i += lanes)
    write(i, load(from + 2 * i), load(from + 2 * i + lanes));
  for (; i < whole; i += lanes) write(i, read(2 * i), read(2 * i + lanes));
  if (i < count) {
    const Mask mask = first_lanes(count - i);
    const Vector low = read(2 * i), high = read(2 * i + lanes);
    store(even + i, every_second<0>(low, high), mask);
    if (odd != nullptr) store(odd + i, every_second<1>(low, high), mask);
  }
}

}  // namespace

void fill_strip(const Strip& s, int64_t row0, const float* plane, float* to) {
  const ConvGeometry& g = s.g;
  const int64_t plane_floats = s.height * s.width;
  // Padded columns [first, last) are the input's.
  const int64_t first = larger<int64_t>(0, g.pad_left);
  const int64_t last = larger(first, g.in_width + g.pad_left);
  for (int64_t row_phase = 0; row_phase < s.row_phases; ++row_phase) {
    float* const phase = to + row_phase * s.column_phases * plane_floats;
    int64_t row = row0 * g.stride_height + row_phase - g.pad_top;
    for (int64_t i = 0; i < s.height; ++i, row += g.stride_height) {
      float* const at = phase + i * s.width;
      const float* const from = plane + row * g.in_width - g.pad_left;
      if (row < 0 || row >= g.in_height || first == last) {
        for (int64_t p = 0; p < s.column_phases; ++p) clear(at + p * plane_floats, s.width);
      } else if (g.stride_width == 1) {
        copy_padded(from, first, last, s.width, at);
      } else if (g.stride_width == 2) {
        split_padded(from, first, last, s.width, (s.height - 1 - i) * s.width >= lanes, at,
                     s.column_phases == 2 ? at + plane_floats : nullptr);
      } else {
        for (int64_t p = 0; p < s.column_phases; ++p) {
          for (int64_t j = 0, column = p; j < s.width; ++j, column += g.stride_width) {
            at[p * plane_floats + j] = column >= first && column < last ? from[column] : 0.0f;
          }
        }
      }
    }
  }
}

}  // namespace axrun::runtime::AXRUN_ISA
