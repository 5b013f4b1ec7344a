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

/// The window of Conv, or of ConvTranspose; x, y: whole shapes. Pads that an output shape or auto_pad asks
/// for are those at the beginning only.
SlidingWindow convolution_window(const StepContext& context, const ir::Shape& x, const ir::Shape& y,
                                 const std::vector<int64_t>& kernel, bool transposed);

/// A convolution with one or two spatial dims as kernels have it; x, y: whole shapes.
ConvShape conv_shape(const ir::Shape& x, const ir::Shape& y, int64_t groups, const SlidingWindow& window);

/// A convolution without a residual, for kernels of these numbers of spatial dims: its window and its
/// epilogue. Nothing where it is none of these, or not f32.
struct PlainConvolution {
  SlidingWindow window;
  int64_t channels = 0;  ///< of its own result, which the epilogue may go on to see under other dims
  EpiloguePlan plan;
};
std::optional<PlainConvolution> plain_convolution(const StepContext& context, bool transposed,
                                                  size_t least_rank, size_t most_rank);

void convolution_general_factories(std::vector<FactoryEntry>& table);
void convolution_volume_factories(std::vector<FactoryEntry>& table);

}  // namespace axrun::runtime
