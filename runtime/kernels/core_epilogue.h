#pragma once

#include "runtime/kernels/activation.h"
#include "runtime/kernels/isa/table.h"

namespace axrun::runtime {

inline CoreEpilogue to_core(const Epilogue& e) {
  return {e.scale,    e.row_factor,          e.column_factor,  e.row_bias,   e.column_bias,
          e.residual, e.residual_row_stride, e.residual_scale, e.activation, e.alpha,
          e.beta};
}

}  // namespace axrun::runtime
