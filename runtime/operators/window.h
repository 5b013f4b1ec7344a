#pragma once

#include <cstdint>
#include <vector>

#include "runtime/plan/kernel.h"

namespace axrun::runtime {

/// The sliding window of a convolution or pooling node over its spatial dims, outermost first.
struct SlidingWindow {
  std::vector<int64_t> in, out, kernel, strides, dilations;
  std::vector<int64_t> pads_begin;  ///< the trailing pads follow from `out`

  size_t rank() const { return in.size(); }
  int64_t taps() const { return ir::element_count(kernel); }
};

/// From the attributes strides, dilations, pads and auto_pad; `x` and `y` are whole shapes [N, C,
/// spatial...].
SlidingWindow sliding_window(const StepContext& context, const ir::Shape& x, const ir::Shape& y,
                             const std::vector<int64_t>& kernel);

}  // namespace axrun::runtime
