// QLinearConv and ConvInteger. What byte_convolution.cpp does not take has its windows gathered into rows of
// bytes, blocks of pixels at a time, and multiplied exactly.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/kernels/isa/table.h"
#include "runtime/operators/byte_convolution.h"
#include "runtime/plan/kernel_block.h"

namespace axrun::runtime {
namespace {

using ir::ElementType;

constexpr ByteConvolutionPorts integer_ports = {0, 2, 1, 3, -1, -1, -1, -1, -1};
constexpr ByteConvolutionPorts linear_ports = {0, 2, 3, 5, 1, 4, 6, 7, 8};

constexpr int64_t block_bytes = int64_t{1} << 18;
constexpr int64_t channels_at_once = 64;

class GatheredByteConvKernel final : public Kernel {
 public:
  GatheredByteConvKernel(const StepContext& context, const ByteConvolutionPorts& ports,
                         const WindowForm& form)
      : ports_(ports),
        form_(std::make_shared<const WindowForm>(form)),
        window_(form.at(context.inputs[ports.x].shape, context.outputs[0].shape)),
        x_type_(*byte_input(context, ports.x)),
        w_type_(*byte_input(context, ports.w)),
        y_type_(byte_type(context.outputs[0].type)),
        threads_(context.threads) {
    const ir::Shape& x = context.inputs[ports.x].shape;
    batch_ = x[0];
    groups_ = context.integer("group", 1);
    channels_ = x[1] / groups_;
    out_channels_ = context.outputs[0].shape[1] / groups_;
    depth_ = channels_ * window_.taps();
    has_x_zero_ = context.has_input(ports.x_zero);
    has_w_zero_ = context.has_input(ports.w_zero);
    has_bias_ = ports.bias >= 0 && context.has_input(static_cast<size_t>(ports.bias));
    zero_per_channel_ = has_w_zero_ && context.inputs[ports.w_zero].count() > 1;
    scale_per_channel_ = y_type_ && context.inputs[static_cast<size_t>(ports.w_scale)].count() > 1;
    // The packed form of one group; groups follow each other.
    packed_stride_ = (quantized_gemm_packed_b_bytes(depth_, out_channels_) + 63) / 64 * 64;
    const ir::Tensor* w = context.inputs[ports.w].constant;
    const ir::Tensor* zero = has_w_zero_ ? context.inputs[ports.w_zero].constant : nullptr;
    if (w != nullptr && (!has_w_zero_ || zero != nullptr)) {
      const void* zeros = zero == nullptr ? nullptr : zero->data();
      jit::PreparedKey key{fmt::format("byte windows {} {} {} {} {}", static_cast<int>(w_type_), channels_,
                                       window_.taps(), out_channels_, groups_),
                           {{w->data(), w->bytes()}}};
      if (zero != nullptr) key.constants.push_back({zeros, zero->bytes()});
      packed_ = context.packs.get(key, packed_stride_ * static_cast<size_t>(groups_), [&](void* to) {
        std::vector<int32_t> wide(static_cast<size_t>(out_channels_));
        std::vector<uint8_t> ordered(static_cast<size_t>(depth_ * out_channels_));
        for (int64_t g = 0; g < groups_; ++g) pack(w->data(), zeros, g, wide.data(), ordered.data(), to);
      });
    }
    size();
  }

  void run(const KernelCall& call) const override {
    char* scratch = static_cast<char*>(call.scratch);
    auto* tap_offsets = reinterpret_cast<int64_t*>(scratch + taps_at_);
    if (packed_ == nullptr) {
      const void* zeros = has_w_zero_ ? call.inputs[ports_.w_zero] : nullptr;
      auto* wide = reinterpret_cast<int32_t*>(scratch + taps_at_);
      auto* ordered = reinterpret_cast<uint8_t*>(scratch + ordered_at_);
      for (int64_t g = 0; g < groups_; ++g)
        pack(call.inputs[ports_.w], zeros, g, wide, ordered, scratch + packed_at_);
    }
    const char* packed = packed_ != nullptr ? static_cast<const char*>(packed_.get()) : scratch + packed_at_;
    const auto* x = static_cast<const uint8_t*>(call.inputs[ports_.x]);
    const int32_t x_zero = has_x_zero_ ? byte_at(x_type_, call.inputs[ports_.x_zero]) : 0;
    QuantizedGemmArguments g = arguments();
    g.a = scratch;
    g.a_zero_point = x_zero;
    g.c = reinterpret_cast<int32_t*>(scratch + sums_at_);
    auto* channels_last = reinterpret_cast<uint8_t*>(scratch + channels_last_at_);
    for (int64_t plane = 0; plane < batch_ * groups_; ++plane) {
      const int64_t group = plane % groups_;
      g.packed_b = packed + packed_stride_ * static_cast<size_t>(group);
      const uint8_t* from = x + plane * channels_ * in_plane_;
      if (channels_ > 1 && in_plane_ > 1) {
        kernel_table().transpose_block(1, in_plane_, channels_, from, in_plane_, channels_last, channels_);
        from = channels_last;
      }
      for (int64_t first = 0; first < pixels_; first += block_) {
        g.m = std::min(block_, pixels_ - first);
        if (is_pointwise_) {
          g.a = from + first * channels_;
        } else {
          gather(from, static_cast<uint8_t>(x_zero), first, g.m, tap_offsets,
                 reinterpret_cast<uint8_t*>(scratch));
        }
        quantized_gemm(g, scratch + gemm_at_, call.pool);
        store(call, plane, first, g.m, g.c, reinterpret_cast<int32_t*>(scratch + planes_at_));
      }
    }
  }

  std::string describe() const override {
    return fmt::format("gathered byte convolution {}x{}->{} {} pixels, {} taps{}{}", batch_,
                       channels_ * groups_, out_channels_ * groups_, pixels_, window_.taps(),
                       groups_ > 1 ? fmt::format(" g{}", groups_) : "", packed_ ? " packed" : "");
  }
  size_t scratch_bytes() const override { return scratch_bytes_; }
  bool ignores_input(int k) const override {
    return packed_ != nullptr && (k == static_cast<int>(ports_.w) || k == static_cast<int>(ports_.w_zero));
  }
  double flops() const override {
    return 2.0 * static_cast<double>(batch_ * groups_ * pixels_) *
           static_cast<double>(out_channels_ * depth_);
  }
  std::shared_ptr<const Kernel> resized(const PortSizes& ports) const override {
    const Extents x = ports.input(ports_.x), y = ports.output(0), w = ports.input(ports_.w);
    if (x.count() == 0 || y.count() == 0 || x[1] != groups_ * channels_ || y[1] != groups_ * out_channels_)
      return nullptr;
    for (size_t d = 0; d < form_->rank(); ++d)
      if (w[2 + d] != form_->kernel()[d]) return nullptr;
    const SlidingWindow window = form_->at(x, y);
    if (byte_convolution_fits(x, y, groups_, window)) return nullptr;
    auto other = make_in_block<GatheredByteConvKernel>(*this);
    other->batch_ = x[0];
    other->window_ = window;
    other->size();
    return other;
  }

 private:
  /// What follows from the window.
  void size() {
    in_plane_ = window_.in.count();
    pixels_ = window_.out.count();
    is_pointwise_ =
        window_.taps() == 1 && window_.in == window_.out &&
        std::all_of(window_.strides.begin(), window_.strides.end(), [](int64_t s) { return s == 1; }) &&
        std::all_of(window_.pads_begin.begin(), window_.pads_begin.end(), [](int64_t p) { return p == 0; });
    block_ =
        std::clamp<int64_t>(block_bytes / std::max<int64_t>(depth_, 1), 16, std::max<int64_t>(pixels_, 16));
    block_ = std::min(block_, pixels_);
    plan_scratch();
  }

  QuantizedGemmArguments arguments() const {
    QuantizedGemmArguments g;
    g.m = block_;
    g.n = out_channels_;
    g.k = depth_;
    g.a_type = x_type_;
    g.a_row_stride = depth_;
    g.c_row_stride = out_channels_;
    return g;
  }

  /// Rows of bytes, sums, the same by channels, the input with channels last, offsets of taps (or zero
  /// points), packed weights and the weights in order.
  void plan_scratch() {
    size_t at = 0;
    const auto take = [&](int64_t bytes) {
      const size_t here = at;
      at += static_cast<size_t>((bytes + 63) / 64 * 64);
      return here;
    };
    take(block_ * depth_);
    sums_at_ = take(block_ * out_channels_ * 4);
    planes_at_ = take(block_ * out_channels_ * 4);
    channels_last_at_ = take(in_plane_ * channels_);
    taps_at_ = take(8 * std::max(window_.taps(), out_channels_));
    if (packed_ == nullptr) {
      packed_at_ = take(static_cast<int64_t>(packed_stride_) * groups_);
      ordered_at_ = take(depth_ * out_channels_);
    }
    gemm_at_ = at;
    scratch_bytes_ = gemm_at_ + quantized_gemm_scratch_bytes(arguments(), threads_);
  }

  /// Rows of windows have all channels of a tap together; `ordered` is room for a group's weights in this
  /// order.
  void pack(const void* w, const void* zeros, int64_t group, int32_t* wide_zeros, uint8_t* ordered,
            void* to) const {
    const int64_t first = group * out_channels_, taps = window_.taps();
    for (int64_t j = 0; zeros != nullptr && j < out_channels_; ++j) {
      wide_zeros[j] = byte_at(w_type_, zeros, zero_per_channel_ ? first + j : 0);
    }
    const auto* from = static_cast<const uint8_t*>(w) + first * depth_;
    for (int64_t o = 0; o < out_channels_; ++o, from += depth_) {
      for (int64_t t = 0; t < taps; ++t) {
        for (int64_t c = 0; c < channels_; ++c) ordered[o * depth_ + t * channels_ + c] = from[c * taps + t];
      }
    }
    quantized_gemm_pack_b(w_type_, depth_, out_channels_, ordered, 1, depth_,
                          zeros == nullptr ? nullptr : wide_zeros, true,
                          static_cast<char*>(to) + packed_stride_ * static_cast<size_t>(group));
  }

  /// Where each tap of an output pixel lies in an input plane; -1 outside.
  void find_taps(int64_t pixel, int64_t* offsets) const {
    const size_t rank = window_.rank();
    int64_t origin[max_spatial_rank];
    for (size_t d = rank; d-- > 0;) {
      origin[d] = pixel % window_.out[d] * window_.strides[d] - window_.pads_begin[d];
      pixel /= window_.out[d];
    }
    const int64_t taps = window_.taps();
    for (int64_t t = 0; t < taps; ++t) {
      int64_t rest = t, offset = 0, stride = 1;
      for (size_t d = rank; d-- > 0;) {
        const int64_t at = origin[d] + rest % window_.kernel[d] * window_.dilations[d];
        rest /= window_.kernel[d];
        if (at < 0 || at >= window_.in[d]) {
          offset = -1;
          break;
        }
        offset += at * stride;
        stride *= window_.in[d];
      }
      offsets[t] = offset;
    }
  }

  void gather(const uint8_t* x, uint8_t padding, int64_t first, int64_t count, int64_t* offsets,
              uint8_t* rows) const {
    const int64_t taps = window_.taps();
    for (int64_t i = 0; i < count; ++i) {
      find_taps(first + i, offsets);
      for (int64_t t = 0; t < taps; ++t, rows += channels_) {
        if (offsets[t] < 0) {
          std::fill_n(rows, channels_, padding);
        } else {
          std::copy_n(x + offsets[t] * channels_, channels_, rows);
        }
      }
    }
  }

  /// Sums [pixels][channels] of a block into the result's planes, by way of `planes`.
  void store(const KernelCall& call, int64_t plane, int64_t first, int64_t count, const int32_t* sums,
             int32_t* planes) const {
    const int64_t group_channel = plane % groups_ * out_channels_,
                  at = plane * out_channels_ * pixels_ + first;
    const auto* bias = has_bias_ ? static_cast<const uint32_t*>(call.inputs[ports_.bias]) : nullptr;
    if (!y_type_) {
      auto* y = static_cast<int32_t*>(call.outputs[0]) + at;
      kernel_table().transpose_block(4, out_channels_, count, sums, out_channels_, y, pixels_);
      return;
    }
    kernel_table().transpose_block(4, out_channels_, count, sums, out_channels_, planes, count);
    const auto scale = [&](int port, int64_t k) { return static_cast<const float*>(call.inputs[port])[k]; };
    const int32_t y_zero = byte_at(*y_type_, call.inputs[ports_.y_zero]);
    auto* y = static_cast<char*>(call.outputs[0]) + at;
    float multipliers[channels_at_once];
    for (int64_t c = 0; c < out_channels_; c += channels_at_once) {
      const int64_t channels = std::min(channels_at_once, out_channels_ - c), channel = group_channel + c;
      int32_t* row = planes + c * count;
      for (int64_t i = 0; i < channels; ++i) {
        const float product =
            scale(ports_.x_scale, 0) * scale(ports_.w_scale, scale_per_channel_ ? channel + i : 0);
        multipliers[i] = product / scale(ports_.y_scale, 0);
        for (int64_t j = 0; bias != nullptr && j < count; ++j)
          row[i * count + j] =
              static_cast<int32_t>(static_cast<uint32_t>(row[i * count + j]) + bias[channel + i]);
      }
      if (pixels_ == 1) {
        requantize_row(*y_type_, channels, row, multipliers, true, y_zero, y + c);
        continue;
      }
      for (int64_t i = 0; i < channels; ++i)
        requantize_row(*y_type_, count, row + i * count, multipliers + i, false, y_zero,
                       y + (c + i) * pixels_);
    }
  }

  ByteConvolutionPorts ports_;
  std::shared_ptr<const WindowForm> form_;
  SlidingWindow window_;  ///< at the sizes
  Byte x_type_, w_type_;
  std::optional<Byte> y_type_;  ///< empty: the sums themselves are the result
  int threads_;
  int64_t batch_ = 0, groups_ = 1, channels_ = 0, out_channels_ = 0;  ///< channels of one group
  int64_t in_plane_ = 0, pixels_ = 0, depth_ = 0, block_ = 0;
  bool has_x_zero_ = false, has_w_zero_ = false, has_bias_ = false, zero_per_channel_ = false,
       scale_per_channel_ = false;
  bool is_pointwise_ = false;  ///< windows are places of the input
  PackedWeights packed_;
  size_t packed_stride_ = 0;
  size_t sums_at_ = 0, planes_at_ = 0, channels_last_at_ = 0, taps_at_ = 0, packed_at_ = 0, ordered_at_ = 0,
         gemm_at_ = 0, scratch_bytes_ = 0;
};

std::unique_ptr<Kernel> make_convolution(const StepContext& context, const ByteConvolutionPorts& ports) {
  if (context.fused() || !byte_input(context, ports.x) || !byte_input(context, ports.w)) return nullptr;
  const StepPort& x = context.inputs[ports.x];
  const StepPort& w = context.inputs[ports.w];
  const ir::Shape& y = context.outputs[0].shape;
  const size_t rank = x.shape.size() - 2;
  if (rank < 1 || rank > max_spatial_rank || context.outputs[0].count() == 0) return nullptr;
  if (w.count() == 0 || x.count() == 0) return nullptr;
  if (!single_or_absent(context, ports.x_zero, x.type)) return nullptr;
  if (context.has_input(ports.w_zero) && context.inputs[ports.w_zero].count() != 1 &&
      context.inputs[ports.w_zero].count() != y[1]) {
    return nullptr;
  }
  const WindowForm form = convolution_form(context, w.shape, false);
  if (byte_convolution_fits(x.shape, y, context.integer("group", 1), form.at(x.shape, y)))
    return make_byte_convolution(context, ports, form);
  return std::make_unique<GatheredByteConvKernel>(context, ports, form);
}

std::unique_ptr<Kernel> make_conv_integer(const StepContext& context) {
  return make_convolution(context, integer_ports);
}

std::unique_ptr<Kernel> make_qlinear_conv(const StepContext& context) {
  for (size_t k = 0; k < 8; ++k) {
    if (!context.has_input(k)) return nullptr;
  }
  const int64_t scales = context.inputs[4].count();
  if (!byte_input(context, 7) || !single_or_absent(context, 1, ElementType::f32) ||
      !single_or_absent(context, 6, ElementType::f32) || context.inputs[7].count() != 1 ||
      context.inputs[4].type != ElementType::f32 || (scales != 1 && scales != context.outputs[0].shape[1])) {
    return nullptr;
  }
  return make_convolution(context, linear_ports);
}

}  // namespace

void quantized_convolution_factories(std::vector<FactoryEntry>& table) {
  table.push_back({"", "ConvInteger", make_conv_integer});
  table.push_back({"", "QLinearConv", make_qlinear_conv});
}

}  // namespace axrun::runtime
