#pragma once

#include "runtime/kernels/isa/activation.h"
#include "runtime/kernels/isa/table.h"

namespace axrun::runtime::AXRUN_ISA {

/// The epilogue for sums that were gathered in a buffer: `rows` rows of `width` elements, `sums_stride`
/// apart, that all belong to row `row` of the result (a channel) and lie there from column `column` on,
/// `output_stride` apart. `output` may be the residual, or `sums` if the strides are the same.
AXRUN_INLINE void finish_rows(const float* sums, int64_t sums_stride, int64_t rows, int64_t width,
                              const CoreEpilogue& e, int64_t row, int64_t column, float* output,
                              int64_t output_stride) {
  const float* residual = e.residual == nullptr ? nullptr : e.residual + row * e.residual_row_stride + column;
  const float* column_bias = e.column_bias == nullptr ? nullptr : e.column_bias + column;
  const float* column_factor = e.column_factor == nullptr ? nullptr : e.column_factor + column;
  const Vector scale = broadcast(e.row_factor == nullptr ? e.scale : e.scale * e.row_factor[row]);
  const Vector row_bias = broadcast(e.row_bias == nullptr ? 0.0f : e.row_bias[row]);
  const Vector residual_scale = broadcast(e.residual_scale);
  const bool clamps = e.activation == Activation::relu || e.activation == Activation::clip;
  const bool clips = e.activation == Activation::clip;
  const Vector low = broadcast(clips ? e.alpha : clamps ? 0.0f : -__builtin_inff());
  const Vector high = broadcast(clips ? e.beta : __builtin_inff());
  const auto finish = [&](int64_t from, int64_t at, auto read, auto write) __attribute__((always_inline)) {
    Vector sum = read(sums + from);
    if (column_factor != nullptr) sum *= read(column_factor + at);
    Vector value = fused(sum, scale, row_bias);
    if (column_bias != nullptr) value += read(column_bias + at);
    if (residual != nullptr) value = fused(read(residual + at), residual_scale, value);
    write(output + at, minimum(high, maximum(low, value)));
  };
  const int64_t whole = width / lanes * lanes;
  const Mask mask = first_lanes(width - whole);
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t from = i * sums_stride;
    const int64_t at = i * output_stride;
    for (int64_t j = 0; j < whole; j += lanes) {
      finish(
          from + j, at + j, [](const float* p) __attribute__((always_inline)) { return load(p); },
          [](float* p, Vector v) __attribute__((always_inline)) { store(p, v); });
    }
    if (whole < width) {
      finish(
          from + whole,
          at + whole, [&](const float* p) __attribute__((always_inline)) { return load(p, mask); },
          [&](float* p, Vector v) __attribute__((always_inline)) { store(p, v, mask); });
    }
  }
  if (!clamps && e.activation != Activation::none) {
    const bool dense = output_stride == width;
    for (int64_t i = 0; i < (dense ? 1 : rows); ++i) {
      float* const at = output + i * output_stride;
      activate(e.activation, dense ? rows * width : width, at, at, e.alpha, e.beta);
    }
  }
}

AXRUN_INLINE void finish_row(const float* sums, int64_t count, const CoreEpilogue& e, int64_t row,
                             int64_t column, float* output) {
  finish_rows(sums, count, 1, count, e, row, column, output, count);
}

}  // namespace axrun::runtime::AXRUN_ISA
