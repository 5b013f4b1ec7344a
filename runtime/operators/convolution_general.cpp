// Conv and ConvTranspose over any number of spatial dims, with any strides and dilations, float32: what the
// other kernels have declined.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/operators/convolution_parts.h"
#include "runtime/plan/kernel_block.h"

namespace axrun::runtime {
namespace {

/// What stays the same at other sizes.
struct GeneralForm {
  WindowForm window;
  bool transposed, bias_is_computed;
  EpiloguePlan plan;
};

ConvNdShape shape_of(int64_t batch, int64_t groups, int64_t in_channels, int64_t out_channels,
                     const SlidingWindow& window) {
  ConvNdShape shape;
  shape.spatial_rank = static_cast<int>(window.rank());
  shape.batch = batch;
  shape.groups = groups;
  shape.in_channels = in_channels;
  shape.out_channels = out_channels;
  std::copy(window.in.begin(), window.in.end(), shape.in_extents);
  std::copy(window.out.begin(), window.out.end(), shape.out_extents);
  std::copy(window.kernel.begin(), window.kernel.end(), shape.kernel);
  std::copy(window.strides.begin(), window.strides.end(), shape.strides);
  std::copy(window.dilations.begin(), window.dilations.end(), shape.dilations);
  std::copy(window.pads_begin.begin(), window.pads_begin.end(), shape.pads_begin);
  return shape;
}

class GeneralConvKernel final : public Kernel {
 public:
  GeneralConvKernel(std::shared_ptr<const GeneralForm> form, const ConvNdShape& shape)
      : form_(std::move(form)), shape_(shape) {}

  void run(const KernelCall& call) const override {
    const auto input = [&](size_t k) { return static_cast<const float*>(call.inputs[k]); };
    const Epilogue epilogue = epilogue_of(form_->plan, form_->bias_is_computed ? input(2) : nullptr);
    const auto convolve = form_->transposed ? conv_transpose_nd : conv_nd;
    convolve(shape_, input(1), input(0), static_cast<float*>(call.outputs[0]), epilogue, call.pool);
  }
  std::string describe() const override {
    return fmt::format("conv {}in {} dims {}x {}->{}", form_->transposed ? "transposed " : "",
                       shape_.spatial_rank, shape_.batch, shape_.in_channels, shape_.out_channels);
  }
  double flops() const override {
    double taps = static_cast<double>(shape_.in_channels / shape_.groups), places = 1;
    for (int d = 0; d < shape_.spatial_rank; ++d) {
      taps *= static_cast<double>(shape_.kernel[d]);
      places *= static_cast<double>(form_->transposed ? shape_.in_extents[d] : shape_.out_extents[d]);
    }
    return 2.0 * static_cast<double>(shape_.batch * shape_.out_channels) * places * taps;
  }
  std::shared_ptr<const Kernel> resized(const PortSizes& ports) const override {
    const auto found = resized_convolution(ports, form_->window, form_->plan, shape_.in_channels);
    if (!found) return nullptr;
    return make_in_block<GeneralConvKernel>(
        form_, shape_of(found->x[0], shape_.groups, shape_.in_channels, shape_.out_channels, found->window));
  }

 private:
  std::shared_ptr<const GeneralForm> form_;
  ConvNdShape shape_;
};

std::unique_ptr<Kernel> make(const StepContext& context, bool transposed) {
  std::optional<PlainConvolution> found = plain_convolution(context, transposed, 1, max_spatial_rank);
  if (!found) return nullptr;
  const ir::Shape& x = context.inputs[0].shape;
  const ConvNdShape shape = shape_of(x[0], context.integer("group", 1), x[1], found->channels, found->window);
  auto form = std::make_shared<const GeneralForm>(
      GeneralForm{found->form, transposed, is_computed(context, 2), std::move(found->plan)});
  return std::make_unique<GeneralConvKernel>(std::move(form), shape);
}

std::unique_ptr<Kernel> make_conv(const StepContext& context) { return make(context, false); }
std::unique_ptr<Kernel> make_conv_transpose(const StepContext& context) { return make(context, true); }

}  // namespace

void convolution_general_factories(std::vector<FactoryEntry>& table) {
  table.push_back({"", "Conv", make_conv});
  table.push_back({"", "ConvTranspose", make_conv_transpose});
}

}  // namespace axrun::runtime
