#pragma once

#include <cstdint>
#include <vector>

#include "runtime/plan/kernel.h"
#include "runtime/plan/port_sizes.h"

namespace axrun::runtime {

/// The sliding window of a convolution or pooling node over its spatial dims, outermost first.
struct SlidingWindow {
  Extents in, out, kernel, strides, dilations;
  Extents pads_begin;
  Extents pads_end;  ///< those asked for: how far windows reach beyond the input follows from `out`

  size_t rank() const { return in.size(); }
  int64_t taps() const { return kernel.count(); }
};

/// What a node says of its window, the same for all sizes of what it goes over.
class WindowForm {
 public:
  /// From the attributes strides, dilations, pads and auto_pad.
  WindowForm(const StepContext& context, const std::vector<int64_t>& kernel);
  /// The same of ConvTranspose: pads that an output shape or auto_pad asks for are those at the beginning
  /// only.
  static WindowForm transposed(const StepContext& context, const std::vector<int64_t>& kernel);

  size_t rank() const { return kernel_.size(); }
  const Extents& kernel() const { return kernel_; }
  /// x, y: whole shapes [N, C, spatial...].
  template <typename Dims>
  SlidingWindow at(const Dims& x, const Dims& y) const {
    SlidingWindow window;
    for (size_t d = 2; d < x.size(); ++d) {
      window.in.push_back(x[d]);
      window.out.push_back(y[d]);
    }
    complete(window);
    return window;
  }

 private:
  enum class Padding : uint8_t { none, given, same_upper, same_lower };
  /// By its input and its output.
  void complete(SlidingWindow& window) const;

  Extents kernel_, strides_, dilations_, pads_;  ///< pads: those at the beginning, then those at the end
  Extents extra_;                                ///< of a result that says how large it is: output_padding
  bool fits_result_ = false;                     ///< a transposed one, whose pads follow from its result
  Padding padding_ = Padding::none;
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

}  // namespace axrun::runtime
