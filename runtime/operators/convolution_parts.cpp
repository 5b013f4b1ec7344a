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

ConvShape conv_shape(int64_t batch, int64_t in_channels, int64_t out_channels, int64_t groups,
                     const SlidingWindow& window) {
  ConvShape shape;
  shape.batch = batch;
  shape.groups = groups;
  shape.in_channels = in_channels;
  shape.out_channels = out_channels;
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

WindowForm convolution_form(const StepContext& context, const ir::Shape& weights, bool transposed) {
  const std::vector<int64_t> kernel(weights.begin() + 2, weights.end());
  return transposed ? WindowForm::transposed(context, kernel) : WindowForm(context, kernel);
}

std::optional<ResizedConvolution> resized_convolution(const PortSizes& ports, const WindowForm& form,
                                                      const EpiloguePlan& plan, int64_t in_channels,
                                                      int residual) {
  if (plan.is_viewed) return std::nullopt;
  const Extents weights = ports.input(1);
  for (size_t d = 0; d < form.rank(); ++d)
    if (weights[2 + d] != form.kernel()[d]) return std::nullopt;
  ResizedConvolution made{ports.input(0), ports.output(0), {}};
  if (made.x[1] != in_channels || made.y[1] != plan.channels()) return std::nullopt;
  if (made.x.count() == 0 || made.y.count() == 0) return std::nullopt;
  if (residual >= 0 && !(ports.input(static_cast<size_t>(residual)) == made.y)) return std::nullopt;
  made.window = form.at(made.x, made.y);
  return made;
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
  const WindowForm form = convolution_form(context, w, transposed);
  const SlidingWindow window = form.at(x, plan.shape);
  const int64_t channels = plan.channels();
  if (!read_bias(context, plan) || !read_epilogue(plan, context) || plan.residual != ir::absent)
    return std::nullopt;
  return PlainConvolution{form, window, channels, std::move(plan)};
}

}  // namespace axrun::runtime
