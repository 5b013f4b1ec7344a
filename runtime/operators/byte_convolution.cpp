// QLinearConv and ConvInteger with one or two spatial dims: exact sums over strips of the input as it lies.
#include "runtime/operators/byte_convolution.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/kernels/isa/table.h"
#include "runtime/plan/kernel_block.h"

namespace axrun::runtime {
namespace {

constexpr int64_t least_channels_of_gathered = 16;
constexpr double cost_of_gathered = 1.2;

/// `wide_zeros` is room for the output channels' zero points.
void pack_weights(const ConvShape& shape, Byte type, const void* w, const void* zeros, bool zero_per_channel,
                  int32_t* wide_zeros, void* to) {
  for (int64_t j = 0; zeros != nullptr && j < shape.out_channels; ++j)
    wide_zeros[j] = byte_at(type, zeros, zero_per_channel ? j : 0);
  byte_conv_pack(shape, type, w, zeros == nullptr ? nullptr : wide_zeros, to);
}

class ByteConvolutionKernel final : public Kernel {
 public:
  ByteConvolutionKernel(const StepContext& context, const ByteConvolutionPorts& ports, const WindowForm& form)
      : ports_(ports),
        form_(std::make_shared<const WindowForm>(form)),
        shape_(
            shape_at(context.inputs[ports.x].shape, context.outputs[0].shape, context.integer("group", 1))),
        x_type_(*byte_input(context, ports.x)),
        w_type_(*byte_input(context, ports.w)),
        y_type_(byte_type(context.outputs[0].type)),
        threads_(context.threads) {
    has_x_zero_ = context.has_input(ports.x_zero);
    has_w_zero_ = context.has_input(ports.w_zero);
    has_bias_ = ports.bias >= 0 && context.has_input(static_cast<size_t>(ports.bias));
    zero_per_channel_ = has_w_zero_ && context.inputs[ports.w_zero].count() > 1;
    scale_per_channel_ = y_type_ && context.inputs[static_cast<size_t>(ports.w_scale)].count() > 1;
    const ir::Tensor* w = context.inputs[ports.w].constant;
    const ir::Tensor* zero = has_w_zero_ ? context.inputs[ports.w_zero].constant : nullptr;
    if (w != nullptr && (!has_w_zero_ || zero != nullptr))
      packed_ = packed_byte_weights(context.packs, shape_, *w, zero);
    plan_scratch();
  }

  void run(const KernelCall& call) const override {
    auto* const scratch = static_cast<char*>(call.scratch);
    ByteConvArguments a;
    a.x_type = x_type_;
    a.x = call.inputs[ports_.x];
    a.x_zero_point = has_x_zero_ ? byte_at(x_type_, call.inputs[ports_.x_zero]) : 0;
    a.packed = packed_.get();
    if (packed_ == nullptr) {
      pack_weights(shape_, w_type_, call.inputs[ports_.w], has_w_zero_ ? call.inputs[ports_.w_zero] : nullptr,
                   zero_per_channel_, reinterpret_cast<int32_t*>(scratch + zeros_at_), scratch + packed_at_);
      a.packed = scratch + packed_at_;
    }
    if (has_bias_) a.bias = static_cast<const int32_t*>(call.inputs[ports_.bias]);
    if (y_type_) {
      auto* const multipliers = reinterpret_cast<float*>(scratch + multipliers_at_);
      const auto scales = [&](int port) { return static_cast<const float*>(call.inputs[port]); };
      const int64_t count = scale_per_channel_ ? shape_.out_channels : 1;
      for (int64_t i = 0; i < count; ++i)
        multipliers[i] = scales(ports_.x_scale)[0] * scales(ports_.w_scale)[i] / scales(ports_.y_scale)[0];
      a.multipliers = multipliers;
      a.per_channel = scale_per_channel_;
      a.y_type = *y_type_;
      a.y_zero_point = byte_at(*y_type_, call.inputs[ports_.y_zero]);
      a.y = call.outputs[0];
    } else {
      a.sums = static_cast<int32_t*>(call.outputs[0]);
    }
    byte_conv(shape_, a, threads_, scratch + conv_at_, call.pool);
  }

  std::string describe() const override {
    const ConvShape& s = shape_;
    return fmt::format("byte convolution {}x {}->{} {}x{} k{}x{} s{}{}{}", s.batch, s.in_channels,
                       s.out_channels, s.out_height, s.out_width, s.kernel_height, s.kernel_width,
                       s.stride_width, s.groups > 1 ? fmt::format(" g{}", s.groups) : "",
                       packed_ ? " packed" : "");
  }
  size_t scratch_bytes() const override { return conv_at_ + byte_conv_scratch_bytes(shape_, threads_); }
  bool ignores_input(int k) const override {
    return packed_ != nullptr && (k == static_cast<int>(ports_.w) || k == static_cast<int>(ports_.w_zero));
  }
  double flops() const override {
    const ConvShape& s = shape_;
    return 2.0 * static_cast<double>(s.batch * s.out_channels * s.out_height * s.out_width) *
           static_cast<double>(s.in_channels / s.groups * s.kernel_height * s.kernel_width);
  }
  std::shared_ptr<const Kernel> resized(const PortSizes& ports) const override {
    const Extents x = ports.input(ports_.x), y = ports.output(0), w = ports.input(ports_.w);
    if (x.count() == 0 || y.count() == 0 || x[1] != shape_.in_channels || y[1] != shape_.out_channels)
      return nullptr;
    for (size_t d = 0; d < form_->rank(); ++d)
      if (w[2 + d] != form_->kernel()[d]) return nullptr;
    const ConvShape shape = shape_at(x, y, shape_.groups);
    // Columns of one element lie as rows, and have the kernel turned.
    if (shape.kernel_height != shape_.kernel_height || shape.kernel_width != shape_.kernel_width ||
        !byte_convolution_fits(shape))
      return nullptr;
    auto other = make_in_block<ByteConvolutionKernel>(*this);
    other->shape_ = shape;
    return other;
  }

 private:
  template <typename Dims>
  ConvShape shape_at(const Dims& x, const Dims& y, int64_t groups) const {
    return conv_shape(x, y, groups, form_->at(x, y));
  }

  /// Multipliers, zero points, packed weights, then the convolution's own.
  void plan_scratch() {
    const auto round = [](size_t bytes) { return (bytes + 63) / 64 * 64; };
    const size_t per_channel = round(static_cast<size_t>(shape_.out_channels) * 4);
    zeros_at_ = multipliers_at_ + per_channel;
    packed_at_ = zeros_at_ + (packed_ ? 0 : per_channel);
    conv_at_ = packed_at_ + (packed_ ? 0 : round(byte_conv_packed_bytes(shape_)));
  }

  ByteConvolutionPorts ports_;
  std::shared_ptr<const WindowForm> form_;
  ConvShape shape_;
  Byte x_type_, w_type_;
  std::optional<Byte> y_type_;  ///< empty: the sums themselves are the result
  int threads_;
  bool has_x_zero_ = false, has_w_zero_ = false, has_bias_ = false, zero_per_channel_ = false,
       scale_per_channel_ = false;
  PackedWeights packed_;
  size_t multipliers_at_ = 0, zeros_at_ = 0, packed_at_ = 0, conv_at_ = 0;
};

}  // namespace

PackedWeights packed_byte_weights(PackCache& packs, const ConvShape& shape, const ir::Tensor& w,
                                  const ir::Tensor* zero) {
  const Byte type = *byte_type(w.type());
  const bool per_channel = zero != nullptr && ir::element_count(zero->shape()) > 1;
  jit::PreparedKey key{
      fmt::format("byte strips {} {} {} {} {}x{} {}", static_cast<int>(type), shape.groups, shape.in_channels,
                  shape.out_channels, shape.kernel_height, shape.kernel_width, per_channel),
      {{w.data(), w.bytes()}}};
  if (zero != nullptr) key.constants.push_back({zero->data(), zero->bytes()});
  return packs.get(key, byte_conv_packed_bytes(shape), [&](void* to) {
    std::vector<int32_t> wide(static_cast<size_t>(shape.out_channels));
    pack_weights(shape, type, w.data(), zero == nullptr ? nullptr : zero->data(), per_channel, wide.data(),
                 to);
  });
}

bool byte_convolution_fits(const ConvShape& shape) {
  // Vectors of pixels have places that nothing comes of, and gathered windows vectors of channels with such.
  const int64_t out_channels = shape.out_channels / shape.groups;
  if (out_channels < least_channels_of_gathered) return true;
  const int64_t lanes = kernel_table().panel_columns / 2,
                gap = (shape.kernel_width - 1) * shape.dilation_width;
  const auto whole = [&](int64_t count) { return static_cast<double>((count + lanes - 1) / lanes * lanes); };
  const double places =
      whole(shape.out_height * shape.out_width + (shape.out_height - 1) * (gap / shape.stride_width));
  const double pixels = static_cast<double>(shape.out_height * shape.out_width);
  const double gathered = pixels * whole(out_channels) / static_cast<double>(out_channels);
  return places < cost_of_gathered * gathered;
}

std::unique_ptr<Kernel> make_byte_convolution(const StepContext& context, const ByteConvolutionPorts& ports,
                                              const WindowForm& form) {
  return std::make_unique<ByteConvolutionKernel>(context, ports, form);
}

}  // namespace axrun::runtime
