#pragma once

#include <memory>

#include "runtime/operators/convolution_parts.h"
#include "runtime/operators/quantized_parts.h"

namespace axrun::runtime {

/// Where the operands of a convolution of bytes stand among the inputs; -1 for a port the operator does not
/// have.
struct ByteConvolutionPorts {
  size_t x, x_zero, w, w_zero;
  int x_scale, w_scale, y_scale, y_zero, bias;
};

/// Packed for byte_conv. The zero point is one or one for each output channel; null for 0.
PackedWeights packed_byte_weights(PackCache& packs, const ConvShape& shape, const ir::Tensor& w,
                                  const ir::Tensor* zero);

bool byte_convolution_fits(const ConvShape& shape);
/// Whether strips are the way: one or two spatial dims, of which not too many places are read for nothing.
template <typename Dims>
bool byte_convolution_fits(const Dims& x, const Dims& y, int64_t groups, const SlidingWindow& window) {
  return window.rank() <= 2 && byte_convolution_fits(conv_shape(x, y, groups, window));
}
/// Inputs are those that quantized_convolution.cpp has checked.
std::unique_ptr<Kernel> make_byte_convolution(const StepContext& context, const ByteConvolutionPorts& ports,
                                              const WindowForm& form);

}  // namespace axrun::runtime
