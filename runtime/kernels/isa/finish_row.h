#pragma once

#include "runtime/kernels/isa/activation.h"
#include "runtime/kernels/isa/table.h"

namespace axrun::runtime::AXRUN_ISA {

/// The epilogue for sums that were gathered in a buffer: `count` elements of row `row` from column `column`
/// on. `output` may be the residual, or `sums`.
AXRUN_INLINE void finish_row(const float* sums, int64_t count, const CoreEpilogue& e, int64_t row,
                             int64_t column, float* output) {
  const float* residual = e.residual == nullptr ? nullptr : e.residual + row * e.residual_row_stride + column;
  const float* column_bias = e.column_bias == nullptr ? nullptr : e.column_bias + column;
  const Vector scale = broadcast(e.scale);
  const Vector row_bias = broadcast(e.row_bias == nullptr ? 0.0f : e.row_bias[row]);
  const Vector residual_scale = broadcast(e.residual_scale);
  const bool clamps = e.activation == Activation::relu || e.activation == Activation::clip;
  const bool clips = e.activation == Activation::clip;
  const Vector low = broadcast(clips ? e.alpha : 0.0f);
  const Vector high = broadcast(clips ? e.beta : __builtin_inff());
  for (int64_t i = 0; i < count; i += lanes) {
    const Mask mask = first_lanes(smaller<int64_t>(lanes, count - i));
    Vector value = fused(load(sums + i, mask), scale, row_bias);
    if (column_bias != nullptr) value += load(column_bias + i, mask);
    if (residual != nullptr) value = fused(load(residual + i, mask), residual_scale, value);
    if (clamps) value = minimum(high, maximum(low, value));
    store(output + i, value, mask);
  }
  if (!clamps && e.activation != Activation::none)
    activate(e.activation, count, output, output, e.alpha, e.beta);
}

}  // namespace axrun::runtime::AXRUN_ISA
