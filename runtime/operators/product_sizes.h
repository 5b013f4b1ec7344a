#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "ir/tensor.h"
#include "runtime/kernels/gemm.h"
#include "runtime/plan/port_sizes.h"

namespace axrun::runtime {

/// How MatMul and its like read their inputs.
struct MatmulForm {
  bool transpose_a = false, transpose_b = false;
};

/// Where the elements of matrices [batch..., rows, columns] lie, in elements from the first one on.
struct MatrixStrides {
  struct Axis {
    int64_t extent, stride;
  };
  static constexpr size_t most_axes = 2 * Extents::most;

  // Arrays are filled as far as they are used: they are made for every product of a plan.
  size_t rank = 0;                              ///< of the batch
  std::array<size_t, Extents::most + 1> first;  ///< axis of each of its dims, and where the last one's end
  std::array<Axis, most_axes> axes;             ///< a dim is a run of axes, outermost first
  Axis rows{1, 0}, columns{1, 0};
};

Extents extents_of(const ir::Shape& shape);

/// The product of A and B, with NumPy's broadcasting of batches: extents and strides of `g`. False where the
/// kernel has no such product.
bool set_product(GemmArguments& g, const MatmulForm& form, Extents a, Extents b);
/// The same with B as it lies elsewhere.
bool set_product(GemmArguments& g, bool transpose_a, const Extents& a, const MatrixStrides& b);

}  // namespace axrun::runtime
