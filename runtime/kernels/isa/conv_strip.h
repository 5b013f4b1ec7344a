#pragma once

// A strip: the part of padded input planes that some rows of a convolution's output need, copied so that
// every tap of the window is a constant offset from the output position.
//
// With stride s, padded row (or column) number i goes to phase i % s at position i / s. An output pixel (r,
// c), counted from the strip's first output row, then reads tap (h, w) at
//   phase (h * dilation % s, w * dilation % s), row r + h * dilation / s, column c + w * dilation / s,
// that is at the tap's offset + r * width + c. Flat positions r * width + c therefore run over all output
// rows at once; those with c >= out_width are computed and dropped.

#include "runtime/kernels/isa/table.h"
#include "runtime/kernels/isa/vector.h"

namespace axrun::runtime::AXRUN_ISA {

struct Strip {
  ConvGeometry g;
  int64_t rows;           ///< output rows
  int64_t height, width;  ///< of one phase plane
  int64_t row_phases, column_phases;
  int64_t channel_floats;  ///< one channel's phase planes
  int64_t flat;            ///< flat output positions
};

static inline Strip make_strip(const ConvGeometry& g, int64_t rows) {
  Strip s = {};
  s.g = g;
  s.rows = rows;
  const int64_t reach_height = (g.kernel_height - 1) * g.dilation_height;
  const int64_t reach_width = (g.kernel_width - 1) * g.dilation_width;
  s.row_phases = smaller(g.stride_height, reach_height + 1);
  s.column_phases = smaller(g.stride_width, reach_width + 1);
  s.height = rows + (g.stride_height == 1 ? reach_height : reach_height / g.stride_height);
  s.width = g.out_width + (g.stride_width == 1 ? reach_width : reach_width / g.stride_width);
  s.channel_floats = s.row_phases * s.column_phases * s.height * s.width;
  s.flat = rows <= 0 ? 0 : (rows - 1) * s.width + g.out_width;
  return s;
}

/// The offsets of all taps, row by row.
static inline void tap_offsets(const Strip& s, int64_t* offsets) {
  const auto split = [](int64_t position, int64_t stride, int64_t* phase) {
    const int64_t quotient = stride == 1 ? position : position / stride;
    *phase = position - quotient * stride;
    return quotient;
  };
  for (int64_t h = 0; h < s.g.kernel_height; ++h) {
    int64_t row_phase;
    const int64_t row = split(h * s.g.dilation_height, s.g.stride_height, &row_phase);
    for (int64_t w = 0; w < s.g.kernel_width; ++w) {
      int64_t column_phase;
      const int64_t column = split(w * s.g.dilation_width, s.g.stride_width, &column_phase);
      *offsets++ = ((row_phase * s.column_phases + column_phase) * s.height + row) * s.width + column;
    }
  }
}

/// Copies one plane's part, from output row `row0` on, into `to` (channel_floats). Up to `lanes` floats more
/// are overwritten with anything: fill channels in order.
void fill_strip(const Strip& strip, int64_t row0, const float* plane, float* to);

}  // namespace axrun::runtime::AXRUN_ISA
