#pragma once

#include <cstdint>
#include <vector>

#include "runtime/plan/kernel.h"

namespace axrun::runtime {

/// The sliding window of a convolution or pooling node over its spatial dims, outermost first.
struct SlidingWindow {
  std::vector<int64_t> in, out, kernel, strides, dilations;
  std::vector<int64_t> pads_begin;
  std::vector<int64_t>
      pads_end;  ///< those asked for: how far windows reach beyond the input follows from `out`

  size_t rank() const { return in.size(); }
  int64_t taps() const { return ir::element_count(kernel); }
};

/// A dim of the window as the height, or the width, of a kernel's shape (ConvShape, PoolShape).
template <typename Shape>
void set_height(Shape& shape, const SlidingWindow& window, size_t dim) {
  shape.in_height = window.in[dim];
  shape.out_height = window.out[dim];
  shape.kernel_height = window.kernel[dim];
  shape.stride_height = window.strides[dim];
  shape.dilation_height = window.dilations[dim];
  shape.pad_top = window.pads_begin[dim];
}
template <typename Shape>
void set_width(Shape& shape, const SlidingWindow& window, size_t dim) {
  shape.in_width = window.in[dim];
  shape.out_width = window.out[dim];
  shape.kernel_width = window.kernel[dim];
  shape.stride_width = window.strides[dim];
  shape.dilation_width = window.dilations[dim];
  shape.pad_left = window.pads_begin[dim];
}

/// The places inside the input that a window reads along one dim, first to end, step by step; and how many of
/// its taps lie in the input or in its pads.
struct Reach {
  int64_t first = 0, end = 1, step = 1;
  int64_t with_pads = 1;

  int64_t count() const { return first >= end ? 0 : (end - 1 - first) / step + 1; }
};
/// Of every window along a spatial dim, in order.
std::vector<Reach> reaches(const SlidingWindow& window, size_t dim);
/// The same of the last `count` dims, of which those that the window lacks come first, with one place.
std::vector<std::vector<Reach>> reaches_of_dims(const SlidingWindow& window, size_t count);

/// From the attributes strides, dilations, pads and auto_pad; `x` and `y` are whole shapes [N, C,
/// spatial...].
SlidingWindow sliding_window(const StepContext& context, const ir::Shape& x, const ir::Shape& y,
                             const std::vector<int64_t>& kernel);

}  // namespace axrun::runtime
