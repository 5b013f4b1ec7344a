// A convolution between DequantizeLinear and QuantizeLinear, on bytes.
#include "runtime/operators/dequantized_convolution.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/operators/byte_convolution.h"
#include "runtime/operators/convolution_parts.h"
#include "runtime/plan/kernel_block.h"

namespace axrun::runtime {
namespace {

using ir::ElementType;

bool is_named(const ir::Node& node, std::string_view op) {
  return node.op == op && (node.domain.empty() || node.domain == "com.microsoft");
}

/// Scale and zero point of a DequantizeLinear or QuantizeLinear: constants, for all elements or for each
/// channel.
struct Quantization {
  const ir::Tensor* scale = nullptr;
  const ir::Tensor* zero_point = nullptr;  ///< null: 0

  int64_t count() const { return ir::element_count(scale->shape()); }
  float scale_at(int64_t channel) const { return scale->as<float>()[count() == 1 ? 0 : channel]; }
};

class Reader {
 public:
  explicit Reader(const StepContext& whole) : whole_(whole) {
    for (const ir::Node* node : whole.group) {
      if (node->op == "Conv" && node->domain.empty()) conv_ = node;
    }
  }

  const ir::Node* conv() const { return conv_; }
  StepPort port(ir::ValueId id) const {
    const int at = index(id);
    return at < 0 ? StepPort() : whole_.inputs[static_cast<size_t>(at)];
  }
  int index(ir::ValueId id) const {
    const auto found = std::find(whole_.input_ids.begin(), whole_.input_ids.end(), id);
    return id == ir::absent || found == whole_.input_ids.end()
               ? -1
               : static_cast<int>(found - whole_.input_ids.begin());
  }
  ir::ValueId input(const ir::Node& node, size_t k) const {
    return k < node.inputs.size() ? node.inputs[k] : ir::absent;
  }
  /// The group's DequantizeLinear that makes this value; null: none does.
  const ir::Node* dequantization(ir::ValueId id) const {
    for (const ir::Node* node : whole_.group) {
      if (id != ir::absent && is_named(*node, "DequantizeLinear") && node->outputs[0] == id) return node;
    }
    return nullptr;
  }

  /// With one scale, or one for each of `channels` along `axis`.
  std::optional<Quantization> quantization(const ir::Node& node, ElementType type, int64_t channels,
                                           int64_t rank, int64_t axis) const {
    const StepPort scale = port(input(node, 1)), zero = port(input(node, 2));
    const auto block = node.attributes.find("block_size");
    if (block != node.attributes.end() && block->second.integer != 0) return std::nullopt;
    if (scale.constant == nullptr || scale.type != ElementType::f32) return std::nullopt;
    const int64_t count = scale.count();
    if (count != 1) {
      const auto found = node.attributes.find("axis");
      const int64_t given = found == node.attributes.end() ? 1 : found->second.integer;
      if (count != channels || scale.rank() != 1 || (given < 0 ? given + rank : given) != axis)
        return std::nullopt;
    }
    if (input(node, 2) != ir::absent &&
        (zero.constant == nullptr || zero.type != type || zero.count() != count))
      return std::nullopt;
    const auto* scales = scale.constant->as<float>();
    if (!std::all_of(scales, scales + count, [](float s) { return std::isfinite(s) && s > 0; }))
      return std::nullopt;
    return Quantization{scale.constant, zero.constant};
  }

 private:
  const StepContext& whole_;
  const ir::Node* conv_ = nullptr;
};

/// All that the kernel needs to know.
struct Setup {
  std::optional<WindowForm> form;
  ConvShape shape;
  int x = -1;  ///< its port
  Byte x_type = Byte::u8;
  int32_t x_zero = 0;
  std::optional<Byte> y_type;  ///< empty: f32
  int32_t y_zero = 0;
  PackedWeights packed;
  std::vector<float> multipliers, addends;  ///< addends may be empty
  float low = -std::numeric_limits<float>::infinity(), high = std::numeric_limits<float>::infinity();
};

/// A single pixel is a vector of channels' work, which floats do well.
template <typename Dims>
bool pays(const Dims& y) {
  int64_t pixels = y[0];
  for (size_t d = 2; d < y.size(); ++d) pixels *= y[d];
  return y[1] > 0 && pixels > y[0];
}

class DequantizedConvKernel final : public Kernel {
 public:
  DequantizedConvKernel(std::shared_ptr<const Setup> setup, const ConvShape& shape, int threads)
      : setup_(std::move(setup)), shape_(shape), threads_(threads) {}

  void run(const KernelCall& call) const override {
    const Setup& setup = *setup_;
    ByteConvArguments a;
    a.x_type = setup.x_type;
    a.x = call.inputs[setup.x];
    a.x_zero_point = setup.x_zero;
    a.packed = setup.packed.get();
    a.multipliers = setup.multipliers.data();
    a.per_channel = true;
    a.addends = setup.addends.empty() ? nullptr : setup.addends.data();
    a.low = setup.low;
    a.high = setup.high;
    if (setup.y_type) {
      a.y_type = *setup.y_type;
      a.y_zero_point = setup.y_zero;
      a.y = call.outputs[0];
    } else {
      a.floats = static_cast<float*>(call.outputs[0]);
    }
    byte_conv(shape_, a, threads_, call.scratch, call.pool);
  }

  std::string describe() const override {
    const ConvShape& s = shape_;
    return fmt::format("byte convolution {}x {}->{} {}x{} k{}x{} s{}{}{}", s.batch, s.in_channels,
                       s.out_channels, s.out_height, s.out_width, s.kernel_height, s.kernel_width,
                       s.stride_width, s.groups > 1 ? fmt::format(" g{}", s.groups) : "",
                       setup_->y_type ? "" : " to float");
  }
  size_t scratch_bytes() const override { return byte_conv_scratch_bytes(shape_, threads_); }
  bool ignores_input(int k) const override { return k != setup_->x; }
  double flops() const override {
    const ConvShape& s = shape_;
    return 2.0 * static_cast<double>(s.batch * s.out_channels * s.out_height * s.out_width) *
           static_cast<double>(s.in_channels / s.groups * s.kernel_height * s.kernel_width);
  }
  std::shared_ptr<const Kernel> resized(const PortSizes& ports) const override {
    const Extents x = ports.input(static_cast<size_t>(setup_->x)), y = ports.output(0);
    if (x.count() == 0 || !pays(y) || x[1] != shape_.in_channels || y[1] != shape_.out_channels)
      return nullptr;
    const ConvShape shape = conv_shape(x, y, shape_.groups, setup_->form->at(x, y));
    // Columns of one element lie as rows, and have the kernel turned.
    if (shape.kernel_height != shape_.kernel_height || shape.kernel_width != shape_.kernel_width)
      return nullptr;
    return make_in_block<DequantizedConvKernel>(setup_, shape, threads_);
  }

 private:
  std::shared_ptr<const Setup> setup_;
  ConvShape shape_;  ///< at the sizes
  int threads_;
};

/// The bias as floats; false where it is not known.
bool read_bias(const Reader& reader, int64_t channels, std::vector<float>& bias) {
  const ir::ValueId id = reader.input(*reader.conv(), 2);
  if (id == ir::absent) return true;
  if (const ir::Node* made = reader.dequantization(id)) {
    const StepPort sums = reader.port(made->inputs[0]);
    if (sums.constant == nullptr || sums.type != ElementType::i32 || sums.count() != channels) return false;
    const auto quantization = reader.quantization(*made, sums.type, channels, 1, 0);
    if (!quantization) return false;
    for (int64_t c = 0; c < channels; ++c) {
      const ir::Tensor* zero = quantization->zero_point;
      if (zero != nullptr && zero->as<int32_t>()[quantization->count() == 1 ? 0 : c] != 0) return false;
      bias.push_back(static_cast<float>(sums.constant->as<int32_t>()[c]) * quantization->scale_at(c));
    }
    return true;
  }
  const StepPort given = reader.port(id);
  if (given.constant == nullptr || given.type != ElementType::f32 || given.count() != channels) return false;
  bias.assign(given.constant->as<float>(), given.constant->as<float>() + channels);
  return true;
}

/// Bounds of floats, then what QuantizeLinear makes of them.
bool read_rest(const StepContext& whole, const Reader& reader, Setup& setup) {
  ir::ValueId value = reader.conv()->outputs[0];
  const int64_t channels = setup.shape.out_channels;
  for (const ir::Node* node : whole.group) {
    if (node->inputs.empty() || node->inputs[0] != value) continue;
    if (setup.y_type) return false;
    if (is_named(*node, "QuantizeLinear")) {
      setup.y_type = byte_type(whole.outputs[0].type);
      if (!setup.y_type) return false;
      const auto quantization = reader.quantization(*node, whole.outputs[0].type, 1, 4, 1);
      if (!quantization || quantization->count() != 1) return false;
      if (quantization->zero_point != nullptr)
        setup.y_zero = byte_at(*setup.y_type, quantization->zero_point->data());
      const float scale = quantization->scale_at(0);
      for (float& multiplier : setup.multipliers) multiplier /= scale;
      for (float& addend : setup.addends) addend /= scale;
      setup.low /= scale;
      setup.high /= scale;
    } else {
      float alpha = 0, beta = 0;
      const Activation activation = activation_of(
          *node, [&](ir::ValueId id) { return reader.port(id); }, alpha, beta);
      if (activation == Activation::relu) alpha = 0, beta = std::numeric_limits<float>::infinity();
      if ((activation != Activation::relu && activation != Activation::clip) || !(alpha <= beta))
        return false;
      // One after another: the later bounds are those of the result.
      setup.low = std::min(std::max(setup.low, alpha), beta);
      setup.high = std::min(std::max(setup.high, alpha), beta);
    }
    value = node->outputs[0];
  }
  const auto finite = [](const std::vector<float>& values) {
    return std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); });
  };
  return value == whole.output_ids[0] && static_cast<int64_t>(setup.multipliers.size()) == channels &&
         finite(setup.multipliers) && finite(setup.addends) &&
         (setup.y_type || whole.outputs[0].type == ElementType::f32);
}

/// Nodes of the group that are none of those the kernel stands for.
bool has_others(const StepContext& whole, const Reader& reader) {
  const ir::Node& conv = *reader.conv();
  size_t known = 1;
  for (size_t k = 0; k < conv.inputs.size(); ++k) known += reader.dequantization(conv.inputs[k]) ? 1 : 0;
  for (const ir::Node* node : whole.group) {
    known += is_named(*node, "QuantizeLinear") || is_named(*node, "Relu") || is_named(*node, "Clip") ? 1 : 0;
  }
  return known != whole.group.size();
}

}  // namespace

bool looks_like_dequantized_convolution(const std::vector<const ir::Node*>& nodes) {
  const ir::Node* conv = nullptr;
  for (const ir::Node* node : nodes) {
    if (is_named(*node, "Conv")) conv = node;
  }
  if (conv == nullptr || conv->inputs.size() < 2) return false;
  int operands = 0;
  for (const ir::Node* node : nodes) {
    const bool dequantizes = is_named(*node, "DequantizeLinear");
    if (!dequantizes && node != conv && !is_named(*node, "QuantizeLinear") && !is_named(*node, "Relu") &&
        !is_named(*node, "Clip"))
      return false;
    operands += dequantizes && (node->outputs[0] == conv->inputs[0] || node->outputs[0] == conv->inputs[1]);
  }
  return operands == 2;
}

std::unique_ptr<Kernel> make_dequantized_convolution(const StepContext& whole) {
  const Reader reader(whole);
  if (reader.conv() == nullptr || !whole.has_output(0) || whole.output_ids.size() != 1 ||
      has_others(whole, reader))
    return nullptr;
  const ir::Node& conv = *reader.conv();
  const ir::Node* const of_x = reader.dequantization(conv.inputs[0]);
  const ir::Node* const of_w = reader.dequantization(conv.inputs[1]);
  if (of_x == nullptr || of_w == nullptr) return nullptr;
  Setup setup;
  setup.x = reader.index(of_x->inputs[0]);
  const StepPort x = reader.port(of_x->inputs[0]), w = reader.port(of_w->inputs[0]);
  if (!x.present || !byte_type(x.type) || w.constant == nullptr || !byte_type(w.type)) return nullptr;
  const ir::Shape& y = whole.outputs[0].shape;
  if (x.rank() != w.rank() || x.rank() < 3 || x.rank() > 4 || y.size() != x.shape.size()) return nullptr;
  if (x.count() == 0 || w.count() == 0 || whole.outputs[0].count() == 0) return nullptr;
  const int64_t channels = y[1];
  const auto x_quantization = reader.quantization(*of_x, x.type, 1, x.rank(), 1);
  const auto w_quantization = reader.quantization(*of_w, w.type, channels, w.rank(), 0);
  if (!x_quantization || !w_quantization) return nullptr;
  if (!pays(y)) return nullptr;
  // Sums of bytes fit 32 bits.
  if (w.count() / channels > std::numeric_limits<int32_t>::max() / (255 * 255)) return nullptr;

  const StepContext at_conv{conv,         whole.group,       whole.programs,     whole.input_ids,
                            whole.inputs, whole.output_ids,  whole.outputs,      whole.threads,
                            whole.packs,  whole.assumptions, whole.open_programs};
  setup.form = convolution_form(at_conv, w.shape, false);
  setup.shape = conv_shape(x.shape, y, at_conv.integer("group", 1), setup.form->at(x.shape, y));
  setup.x_type = *byte_type(x.type);
  if (x_quantization->zero_point != nullptr)
    setup.x_zero = byte_at(setup.x_type, x_quantization->zero_point->data());
  for (int64_t c = 0; c < channels; ++c)
    setup.multipliers.push_back(x_quantization->scale_at(0) * w_quantization->scale_at(c));
  if (!read_bias(reader, channels, setup.addends) || !read_rest(whole, reader, setup)) return nullptr;
  setup.packed = packed_byte_weights(whole.packs, setup.shape, *w.constant, w_quantization->zero_point);
  const ConvShape shape = setup.shape;
  return std::make_unique<DequantizedConvKernel>(std::make_shared<const Setup>(std::move(setup)), shape,
                                                 whole.threads);
}

}  // namespace axrun::runtime
