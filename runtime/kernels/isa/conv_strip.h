#pragma once

// A strip: the part of padded input planes that some rows of a convolution's output need, copied so that
// every tap of the window is a constant offset from the output position.
//
// With stride s, padded row (or column) number i goes to phase i % s at position i / s. An output pixel (r,
// c), counted from the strip's first output row, then reads tap (h, w) at
//   phase (h * dilation % s, w * dilation % s), row r + h * dilation / s, column c + w * dilation / s,
// that is at tap_offset(h, w) + r * width + c. Flat positions r * width + c therefore run over all output
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
  s.height = rows + reach_height / g.stride_height;
  s.width = g.out_width + reach_width / g.stride_width;
  s.channel_floats = s.row_phases * s.column_phases * s.height * s.width;
  s.flat = rows <= 0 ? 0 : (rows - 1) * s.width + g.out_width;
  return s;
}

static inline int64_t tap_offset(const Strip& s, int64_t h, int64_t w) {
  const int64_t row = h * s.g.dilation_height;
  const int64_t column = w * s.g.dilation_width;
  const int64_t phase = row % s.g.stride_height * s.column_phases + column % s.g.stride_width;
  return (phase * s.height + row / s.g.stride_height) * s.width + column / s.g.stride_width;
}

/// Copies one plane's part, from output row `row0` on, into `to` (channel_floats).
void fill_strip(const Strip& strip, int64_t row0, const float* plane, float* to);

}  // namespace axrun::runtime::AXRUN_ISA
