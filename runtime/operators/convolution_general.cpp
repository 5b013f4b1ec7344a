// Conv and ConvTranspose over any number of spatial dims, with any strides and dilations, float32: what the
// other kernels have declined.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/operators/convolution_parts.h"

namespace axrun::runtime {
namespace {

class GeneralConvKernel final : public Kernel {
 public:
  GeneralConvKernel(const ConvNdShape& shape, bool transposed, bool bias_is_computed, EpiloguePlan plan)
      : shape_(shape), transposed_(transposed), bias_is_computed_(bias_is_computed), plan_(std::move(plan)) {}

  void run(const KernelCall& call) const override {
    const auto input = [&](size_t k) { return static_cast<const float*>(call.inputs[k]); };
    const Epilogue epilogue = epilogue_of(plan_, bias_is_computed_ ? input(2) : nullptr);
    const auto convolve = transposed_ ? conv_transpose_nd : conv_nd;
    convolve(shape_, input(1), input(0), static_cast<float*>(call.outputs[0]), epilogue, call.pool);
  }
  std::string describe() const override {
    return fmt::format("conv {}in {} dims {}x {}->{}", transposed_ ? "transposed " : "", shape_.spatial_rank,
                       shape_.batch, shape_.in_channels, shape_.out_channels);
  }
  double flops() const override {
    double taps = static_cast<double>(shape_.in_channels / shape_.groups), places = 1;
    for (int d = 0; d < shape_.spatial_rank; ++d) {
      taps *= static_cast<double>(shape_.kernel[d]);
      places *= static_cast<double>(transposed_ ? shape_.in_extents[d] : shape_.out_extents[d]);
    }
    return 2.0 * static_cast<double>(shape_.batch * shape_.out_channels) * places * taps;
  }

 private:
  ConvNdShape shape_;
  bool transposed_, bias_is_computed_;
  EpiloguePlan plan_;
};

std::unique_ptr<Kernel> make(const StepContext& context, bool transposed) {
  std::optional<PlainConvolution> found = plain_convolution(context, transposed, 1, max_spatial_rank);
  if (!found) return nullptr;
  const SlidingWindow& window = found->window;
  ConvNdShape shape;
  shape.spatial_rank = static_cast<int>(window.rank());
  shape.batch = context.inputs[0].shape[0];
  shape.groups = context.integer("group", 1);
  shape.in_channels = context.inputs[0].shape[1];
  shape.out_channels = found->channels;
  std::copy(window.in.begin(), window.in.end(), shape.in_extents);
  std::copy(window.out.begin(), window.out.end(), shape.out_extents);
  std::copy(window.kernel.begin(), window.kernel.end(), shape.kernel);
  std::copy(window.strides.begin(), window.strides.end(), shape.strides);
  std::copy(window.dilations.begin(), window.dilations.end(), shape.dilations);
  std::copy(window.pads_begin.begin(), window.pads_begin.end(), shape.pads_begin);
  return std::make_unique<GeneralConvKernel>(shape, transposed, is_computed(context, 2),
                                             std::move(found->plan));
}

std::unique_ptr<Kernel> make_conv(const StepContext& context) { return make(context, false); }
std::unique_ptr<Kernel> make_conv_transpose(const StepContext& context) { return make(context, true); }

}  // namespace

void convolution_general_factories(std::vector<FactoryEntry>& table) {
  table.push_back({"", "Conv", make_conv});
  table.push_back({"", "ConvTranspose", make_conv_transpose});
}

}  // namespace axrun::runtime
