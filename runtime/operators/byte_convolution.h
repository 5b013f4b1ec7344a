#pragma once

#include <memory>

#include "runtime/operators/quantized_parts.h"
#include "runtime/operators/window.h"

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

/// One or two spatial dims, over strips. Inputs are those that quantized_convolution.cpp has checked.
bool byte_convolution_fits(const StepContext& context, const ByteConvolutionPorts& ports,
                           const SlidingWindow& window);
std::unique_ptr<Kernel> make_byte_convolution(const StepContext& context, const ByteConvolutionPorts& ports,
                                              const SlidingWindow& window);

}  // namespace axrun::runtime
