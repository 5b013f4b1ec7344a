#pragma once

#include <optional>

#include "runtime/operators/epilogue.h"
#include "runtime/operators/window.h"

namespace axrun::runtime {

/// Whether X, W and Y of a convolution are there, and f32.
bool reads_and_writes_f32(const StepContext& context);

/// The bias of a convolution as its epilogue's, where it is known. False where kernels cannot read it.
bool read_bias(const StepContext& context, EpiloguePlan& plan);

/// Whether input k is there, and no constant.
bool is_computed(const StepContext& context, size_t k);

/// The plan's epilogue but for its residual; bias: the computed one, or null.
Epilogue epilogue_of(const EpiloguePlan& plan, const float* bias);

/// The window of Conv, or of ConvTranspose, whose weights are of this shape.
WindowForm convolution_form(const StepContext& context, const ir::Shape& weights, bool transposed);

/// A convolution with one or two spatial dims as kernels have it.
ConvShape conv_shape(int64_t batch, int64_t in_channels, int64_t out_channels, int64_t groups,
                     const SlidingWindow& window);
/// x, y: whole shapes.
template <typename Dims>
ConvShape conv_shape(const Dims& x, const Dims& y, int64_t groups, const SlidingWindow& window) {
  return conv_shape(x[0], x[1], y[1], groups, window);
}

/// What a convolution reads and gives at other sizes, where its kernel has the weights and the epilogue for
/// them.
struct ResizedConvolution {
  Extents x, y;
  SlidingWindow window;
};
/// Nothing where channels or kernel are others, nothing is computed, or the result is seen under other dims.
/// residual: its port, or -1.
std::optional<ResizedConvolution> resized_convolution(const PortSizes& ports, const WindowForm& form,
                                                      const EpiloguePlan& plan, int64_t in_channels,
                                                      int residual = -1);

/// A convolution without a residual, for kernels of these numbers of spatial dims: its window and its
/// epilogue. Nothing where it is none of these, or not f32.
struct PlainConvolution {
  WindowForm form;
  SlidingWindow window;
  int64_t channels = 0;  ///< of its own result, which the epilogue may go on to see under other dims
  EpiloguePlan plan;
};
std::optional<PlainConvolution> plain_convolution(const StepContext& context, bool transposed,
                                                  size_t least_rank, size_t most_rank);

void convolution_general_factories(std::vector<FactoryEntry>& table);
void convolution_volume_factories(std::vector<FactoryEntry>& table);

}  // namespace axrun::runtime
