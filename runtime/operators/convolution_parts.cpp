#include "runtime/operators/convolution_parts.h"

#include <algorithm>
#include <utility>

namespace axrun::runtime {

bool reads_and_writes_f32(const StepContext& context) {
  return context.has_input(0) && context.has_input(1) && context.inputs[0].type == ir::ElementType::f32 &&
         context.inputs[1].type == ir::ElementType::f32 && context.has_output(0) &&
         context.outputs[0].type == ir::ElementType::f32;
}

bool read_bias(const StepContext& context, EpiloguePlan& plan) {
  if (!context.has_input(2)) return true;
  const StepPort& bias = context.inputs[2];
  if (bias.type != ir::ElementType::f32 || bias.count() != plan.channels()) return false;
  if (bias.constant == nullptr) return !context.fused();
  plan.bias.assign(bias.constant->as<float>(), bias.constant->as<float>() + bias.count());
  return true;
}

bool is_computed(const StepContext& context, size_t k) {
  return context.has_input(k) && context.inputs[k].constant == nullptr;
}

Epilogue epilogue_of(const EpiloguePlan& plan, const float* bias) {
  Epilogue epilogue;
  if (!plan.factor.empty()) epilogue.row_factor = plan.factor.data();
  if (!plan.bias.empty()) epilogue.row_bias = plan.bias.data();
  if (bias != nullptr) epilogue.row_bias = bias;
  epilogue.activation = plan.activation;
  epilogue.alpha = plan.alpha;
  epilogue.beta = plan.beta;
  return epilogue;
}

ConvShape conv_shape(const ir::Shape& x, const ir::Shape& y, int64_t groups, const SlidingWindow& window) {
  ConvShape shape;
  shape.batch = x[0];
  shape.groups = groups;
  shape.in_channels = x[1];
  shape.out_channels = y[1];
  set_width(shape, window, window.rank() - 1);
  if (window.rank() == 2) set_height(shape, window, 0);
  // Columns of one element lie as a row does, and kernels walk along rows.
  if (shape.in_width == 1 && shape.out_width == 1 && shape.kernel_width == 1 && shape.pad_left == 0) {
    std::swap(shape.in_height, shape.in_width);
    std::swap(shape.out_height, shape.out_width);
    std::swap(shape.kernel_height, shape.kernel_width);
    std::swap(shape.stride_height, shape.stride_width);
    std::swap(shape.dilation_height, shape.dilation_width);
    std::swap(shape.pad_top, shape.pad_left);
  }
  return shape;
}

SlidingWindow convolution_window(const StepContext& context, const ir::Shape& x, const ir::Shape& y,
                                 const std::vector<int64_t>& kernel, bool transposed) {
  SlidingWindow window = sliding_window(context, x, y, kernel);
  const std::string mode = context.string("auto_pad", "NOTSET");
  if (!transposed || (context.integers("output_shape").empty() && mode == "NOTSET")) return window;
  const std::vector<int64_t> extra = context.integers("output_padding");
  for (size_t d = 0; d < window.rank(); ++d) {
    const int64_t reach = window.dilations[d] * (kernel[d] - 1) + 1;
    const int64_t whole = window.strides[d] * (window.in[d] - 1) + (extra.empty() ? 0 : extra[d]) + reach;
    const int64_t total = std::max<int64_t>(0, whole - window.out[d]);
    window.pads_begin[d] = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
  }
  return window;
}

std::optional<PlainConvolution> plain_convolution(const StepContext& context, bool transposed,
                                                  size_t least_rank, size_t most_rank) {
  if (!reads_and_writes_f32(context)) return std::nullopt;
  const ir::Shape& x = context.inputs[0].shape;
  const ir::Shape& w = context.inputs[1].shape;
  if (x.size() != w.size() || x.size() < 2 + least_rank || x.size() > 2 + most_rank) return std::nullopt;
  EpiloguePlan plan;
  plan.shape = own_result_shape(context);
  plan.channel_axis = 1;
  SlidingWindow window =
      convolution_window(context, x, plan.shape, std::vector<int64_t>(w.begin() + 2, w.end()), transposed);
  const int64_t channels = plan.channels();
  if (!read_bias(context, plan) || !read_epilogue(plan, context) || plan.residual != ir::absent)
    return std::nullopt;
  return PlainConvolution{std::move(window), channels, std::move(plan)};
}

}  // namespace axrun::runtime
