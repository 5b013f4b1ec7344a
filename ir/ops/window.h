#pragma once

#include "ir/operator.h"

namespace axrun::ir {

/// The sliding window of convolutions and pooling over the spatial dimensions of an input [N, C, spatial...]:
/// point o of the output and k of the window meet the input at o * stride + k * dilation - pads_begin.
struct Window {
  Dims input;  ///< spatial dims
  Dims kernel;
  std::vector<int64_t> strides;
  std::vector<int64_t> dilations;
  Dims pads_begin;
  Dims pads_end;
  Dims output;

  size_t rank() const { return input.size(); }
  /// The extent of the dilated window in dimension d.
  Dim reach(size_t d) const { return dilations[d] * (kernel[d] - 1) + 1; }
  /// The input coordinates at output point o and window point k; they may lie outside the input.
  Indices at(const Indices& o, const Indices& k) const;
};

/// Attributes of every windowed operator, checked: strides, dilations, pads, auto_pad.
struct WindowAttributes {
  std::vector<int64_t> strides;
  std::vector<int64_t> dilations;
  std::vector<int64_t> pads;  ///< begins, then ends
  enum class AutoPad : uint8_t { notset, same_upper, same_lower, valid } auto_pad = AutoPad::notset;
};
WindowAttributes window_attributes(const OperatorContext& context, size_t rank);

/// Splits [N, C, spatial...]; at least `least` spatial dims.
Dims spatial_dims(const OperatorContext& context, const Dims& dims, size_t least);

/// The window of a convolution or a pooling operator, with its output dims. SAME_*: the output is
/// ceil(input / stride) and an odd padding is one more at the end (UPPER) or at the beginning (LOWER).
/// ceil_mode: the last window may reach past the padded input, but may not start in the padding at the end.
Window sliding_window(const OperatorContext& context, const Dims& spatial, const Dims& kernel,
                      bool ceil_mode = false);

/// The attribute kernel_shape, which must be present and positive.
Dims kernel_shape(const OperatorContext& context, size_t rank);
/// Refuses a kernel_shape attribute that differs from the weight's spatial dims.
void check_kernel_shape(const OperatorContext& context, const Dims& kernel);

/// A list attribute of `rank` entries in low..2^31-1; `otherwise` everywhere when it is absent or empty.
std::vector<int64_t> spatial_attribute(const OperatorContext& context, std::string_view name, size_t rank,
                                       int64_t otherwise, int64_t low);

}  // namespace axrun::ir
