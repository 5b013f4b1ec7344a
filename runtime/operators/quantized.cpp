// QuantizeLinear, DequantizeLinear, both in one pass, and DynamicQuantizeLinear.
#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/kernels/isa/table.h"
#include "runtime/operators/quantized_parts.h"
#include "runtime/plan/kernel_block.h"

namespace axrun::runtime {
namespace {

using ir::ElementType;

constexpr int64_t grain_elements = 16384;

/// A quantized tensor as [outer][channels][inner] with one scale and zero point per channel.
struct Granularity {
  int64_t outer = 1, channels = 1, inner = 1;
  int64_t count() const { return outer * channels * inner; }
};

/// Whatever the sizes are: input 1 is the scale and input 2 the zero point of input 0.
struct Scaling {
  int64_t axis = 0;
  bool has_zero = false, is_blocked = false;

  /// Empty for scales per block.
  template <typename Dims>
  std::optional<Granularity> of(const Dims& x, int64_t scales, size_t scale_rank, int64_t zeros) const {
    if (has_zero && zeros != scales) return std::nullopt;
    Granularity g;
    const bool is_one = scales == 1 && scale_rank <= 1;
    if (!is_one && (scale_rank != 1 || is_blocked)) return std::nullopt;
    const auto rank = static_cast<int64_t>(x.size()), at = axis < 0 ? axis + rank : axis;
    for (int64_t d = 0; d < rank; ++d) {
      const int64_t extent = x[static_cast<size_t>(d)];
      (is_one || d > at ? g.inner : d < at ? g.outer : g.channels) *= extent;
    }
    return g;
  }
  /// Empty where there is nothing to compute, either.
  std::optional<Granularity> at(const PortSizes& ports) const {
    const Extents x = ports.input(0), scale = ports.input(1);
    if (x.count() == 0) return std::nullopt;
    return of(x, scale.count(), scale.size(), has_zero ? ports.input(2).count() : 0);
  }
};

struct ScaledTensor {
  Scaling scaling;
  Granularity sizes;
};
std::optional<ScaledTensor> scaled_tensor(const StepContext& context) {
  const Scaling scaling{context.integer("axis", 1), context.has_input(2),
                        context.integer("block_size", 0) != 0};
  const StepPort& scale = context.inputs[1];
  const auto sizes = scaling.of(context.inputs[0].shape, scale.count(), scale.shape.size(),
                                scaling.has_zero ? context.inputs[2].count() : 0);
  return sizes ? std::optional(ScaledTensor{scaling, *sizes}) : std::nullopt;
}

bool plain_f32_scale(const StepContext& context) {
  if (!context.has_input(0) || !context.has_input(1) || context.inputs[1].type != ElementType::f32)
    return false;
  return context.integer("precision", 0) == 0 && context.inputs[0].count() > 0;
}

/// Calls row(channel, first element, count) on pieces of rows that share one scale.
template <typename Row>
void for_rows(const Granularity& g, ThreadPool& pool, const Row& row) {
  if (g.outer * g.channels == 1) {
    pool.parallel_for(g.inner, grain_elements,
                      [&](int64_t begin, int64_t end) { row(0, begin, end - begin); });
    return;
  }
  const int64_t grain = std::max<int64_t>(1, grain_elements / std::max<int64_t>(g.inner, 1));
  pool.parallel_for(g.outer * g.channels, grain, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) row(r % g.channels, r * g.inner, g.inner);
  });
}

// Bytes
// ------------------------------------------------------------------------------------------------------------

class ByteKernel final : public Kernel {
 public:
  ByteKernel(const ScaledTensor& x, Byte type, bool quantizes)
      : scaling_(x.scaling), type_(type), g_(x.sizes), quantizes_(quantizes) {}
  void run(const KernelCall& call) const override {
    QuantizationShape shape;
    shape.outer = g_.outer;
    shape.channels = g_.channels;
    shape.inner = g_.inner;
    shape.scale = static_cast<const float*>(call.inputs[1]);
    shape.zero_point = scaling_.has_zero ? call.inputs[2] : nullptr;
    if (quantizes_) {
      quantize(type_, shape, static_cast<const float*>(call.inputs[0]), call.outputs[0], call.pool);
    } else {
      dequantize(type_, shape, call.inputs[0], static_cast<float*>(call.outputs[0]), call.pool);
    }
  }
  std::string describe() const override { return quantizes_ ? "quantize" : "dequantize"; }
  std::shared_ptr<const Kernel> resized(const PortSizes& ports) const override {
    const auto sizes = scaling_.at(ports);
    if (!sizes) return nullptr;
    return make_in_block<ByteKernel>(ScaledTensor{scaling_, *sizes}, type_, quantizes_);
  }

 private:
  Scaling scaling_;
  Byte type_;
  Granularity g_;
  bool quantizes_;
};

// 16 and 32 bits, and 4 bits stored as bytes
// ------------------------------------------------------------------------------------------------------------

struct Bounds {
  float low, high;
};

Bounds bounds_of(ElementType type) {
  return {static_cast<float>(ir::integer_min(type)), static_cast<float>(ir::integer_max(type))};
}

/// Elements of a block that stays in the first cache level.
constexpr int64_t block = 2048;

/// values = saturate(round_half_even(x / scale) + zero) as whole floats, for count <= block; NaN gives 0.
void quantize_block(int64_t count, const float* x, float scale, float zero, const Bounds& bounds,
                    float* values) {
  const KernelTable& table = kernel_table();
  table.binary(Binary::divide, Number::f32, count, x, 1, &scale, 0, values);
  table.unary(Unary::clip, count, values, values, bounds.low - zero, bounds.high - zero);
  table.unary(Unary::round_even, count, values, values, 0, 0);
  int unordered = 0;
  for (int64_t i = 0; i < count; ++i) {
    values[i] += zero;
    unordered |= values[i] != values[i] ? 1 : 0;
  }
  for (int64_t i = 0; i < count && unordered != 0; ++i) {
    if (std::isnan(values[i])) values[i] = 0;
  }
}

template <typename T>
class QuantizeKernel final : public Kernel {
 public:
  QuantizeKernel(const ScaledTensor& x, ElementType type)
      : scaling_(x.scaling), type_(type), bounds_(bounds_of(type)), g_(x.sizes) {}
  void run(const KernelCall& call) const override {
    const auto* x = static_cast<const float*>(call.inputs[0]);
    const auto* scales = static_cast<const float*>(call.inputs[1]);
    const auto* zeros = scaling_.has_zero ? static_cast<const T*>(call.inputs[2]) : nullptr;
    auto* y = static_cast<T*>(call.outputs[0]);
    for_rows(g_, call.pool, [&](int64_t channel, int64_t first, int64_t count) {
      const float scale = scales[channel];
      const float zero = zeros == nullptr ? 0.0f : static_cast<float>(zeros[channel]);
      alignas(64) float values[block];
      for (int64_t i = first; i < first + count; i += block) {
        const int64_t size = std::min(block, first + count - i);
        quantize_block(size, x + i, scale, zero, bounds_, values);
        for (int64_t j = 0; j < size; ++j) y[i + j] = static_cast<T>(static_cast<int32_t>(values[j]));
      }
    });
  }
  std::string describe() const override { return "quantize"; }
  std::shared_ptr<const Kernel> resized(const PortSizes& ports) const override {
    const auto sizes = scaling_.at(ports);
    return sizes ? make_in_block<QuantizeKernel>(ScaledTensor{scaling_, *sizes}, type_) : nullptr;
  }

 private:
  Scaling scaling_;
  ElementType type_;
  Bounds bounds_;
  Granularity g_;
};

template <typename T>
class DequantizeKernel final : public Kernel {
 public:
  explicit DequantizeKernel(const ScaledTensor& x) : scaling_(x.scaling), g_(x.sizes) {}
  void run(const KernelCall& call) const override {
    const auto* x = static_cast<const T*>(call.inputs[0]);
    const auto* scales = static_cast<const float*>(call.inputs[1]);
    const auto* zeros = scaling_.has_zero ? static_cast<const T*>(call.inputs[2]) : nullptr;
    auto* y = static_cast<float*>(call.outputs[0]);
    for_rows(g_, call.pool, [&](int64_t channel, int64_t first, int64_t count) {
      const float scale = scales[channel];
      const auto zero = zeros == nullptr ? 0u : static_cast<uint32_t>(zeros[channel]);
      for (int64_t i = first; i < first + count; ++i) {
        y[i] = static_cast<float>(static_cast<int32_t>(static_cast<uint32_t>(x[i]) - zero)) * scale;
      }
    });
  }
  std::string describe() const override { return "dequantize"; }
  std::shared_ptr<const Kernel> resized(const PortSizes& ports) const override {
    const auto sizes = scaling_.at(ports);
    return sizes ? make_in_block<DequantizeKernel>(ScaledTensor{scaling_, *sizes}) : nullptr;
  }

 private:
  Scaling scaling_;
  Granularity g_;
};

// QuantizeLinear followed by DequantizeLinear
// ------------------------------------------------------------------------------------------------------------

/// One pass over float values; the quantized ones exist only block by block.
class QuantizePairKernel final : public Kernel {
 public:
  struct Port {
    int scale = -1, zero = -1;  ///< inputs of the step; -1 for a zero point of 0
  };
  QuantizePairKernel(ElementType type, int64_t count, Port first, Port second)
      : type_(type), count_(count), first_(first), second_(second) {}

  void run(const KernelCall& call) const override {
    const auto* x = static_cast<const float*>(call.inputs[0]);
    auto* y = static_cast<float*>(call.outputs[0]);
    const float quantum = scale_of(call, first_), unit = scale_of(call, second_);
    const int32_t zero = zero_of(call, first_), offset = zero_of(call, second_);
    const auto byte = byte_type(type_);
    const Bounds bounds = bounds_of(type_);
    call.pool.parallel_for(count_, grain_elements, [&](int64_t begin, int64_t end) {
      alignas(64) unsigned char bytes[block];
      alignas(64) float values[block];
      for (int64_t i = begin; i < end; i += block) {
        const int64_t count = std::min(block, end - i);
        if (byte) {
          kernel_table().quantize_row(*byte, count, x + i, quantum, zero, bytes);
          kernel_table().dequantize_row(*byte, count, bytes, unit, offset, y + i);
          continue;
        }
        quantize_block(count, x + i, quantum, static_cast<float>(zero), bounds, values);
        for (int64_t j = 0; j < count; ++j) y[i + j] = (values[j] - static_cast<float>(offset)) * unit;
      }
    });
  }
  std::string describe() const override { return "quantize and dequantize"; }
  std::vector<int> in_place() const override { return {0}; }
  std::shared_ptr<const Kernel> resized(const PortSizes& ports) const override {
    for (const int port : {first_.scale, first_.zero, second_.scale, second_.zero})
      if (port >= 0 && ports.input(static_cast<size_t>(port)).count() != 1) return nullptr;
    const int64_t count = ports.output(0).count();
    return count > 0 ? make_in_block<QuantizePairKernel>(type_, count, first_, second_) : nullptr;
  }

 private:
  static float scale_of(const KernelCall& call, const Port& port) {
    return *static_cast<const float*>(call.inputs[port.scale]);
  }
  int32_t zero_of(const KernelCall& call, const Port& port) const {
    if (port.zero < 0) return 0;
    const void* data = call.inputs[port.zero];
    if (type_ == ElementType::u16) return *static_cast<const uint16_t*>(data);
    if (type_ == ElementType::i16) return *static_cast<const int16_t*>(data);
    return byte_at(*byte_type(type_), data);
  }

  ElementType type_;
  int64_t count_;
  Port first_, second_;
};

/// Ports of a node's parameters in the step; empty unless they are one f32 scale and one zero point of
/// `type`.
std::optional<QuantizePairKernel::Port> parameter_port(const StepContext& context, const ir::Node& node,
                                                       ElementType type) {
  QuantizePairKernel::Port port;
  const auto find = [&](size_t k, ElementType wanted, int& position) {
    if (k >= node.inputs.size() || node.inputs[k] == ir::absent) return k == 2;
    const auto found = std::find(context.input_ids.begin(), context.input_ids.end(), node.inputs[k]);
    if (found == context.input_ids.end()) return false;
    position = static_cast<int>(found - context.input_ids.begin());
    const StepPort& given = context.inputs[static_cast<size_t>(position)];
    return given.type == wanted && given.count() == 1 && given.rank() <= 1;
  };
  if (!find(1, ElementType::f32, port.scale) || !find(2, type, port.zero)) return std::nullopt;
  return port;
}

std::unique_ptr<Kernel> make_pair(const StepContext& context) {
  if (context.group.size() != 2 || !plain_f32_scale(context)) return nullptr;
  const ir::Node& last = *context.group[1];
  if (last.op != "DequantizeLinear" || last.inputs[0] != context.node.outputs[0]) return nullptr;
  if (context.inputs[0].type != ElementType::f32 || context.outputs[0].type != ElementType::f32)
    return nullptr;
  const ir::Program& quantize = *context.programs[0];
  const ElementType type = quantize.tensors[static_cast<size_t>(quantize.outputs[0])].type;
  if (!byte_type(type) && type != ElementType::u16 && type != ElementType::i16) return nullptr;
  const auto first = parameter_port(context, context.node, type);
  const auto second = parameter_port(context, last, type);
  if (!first || !second) return nullptr;
  return std::make_unique<QuantizePairKernel>(type, context.outputs[0].count(), *first, *second);
}

std::unique_ptr<Kernel> make_quantize(const StepContext& context) {
  if (context.fused()) return make_pair(context);
  if (!plain_f32_scale(context) || context.inputs[0].type != ElementType::f32) return nullptr;
  const auto scaled = scaled_tensor(context);
  if (!scaled) return nullptr;
  const ElementType type = context.outputs[0].type;
  switch (type) {
    case ElementType::u8:
    case ElementType::i8:
      return std::make_unique<ByteKernel>(*scaled, *byte_type(type), true);
    case ElementType::u4:
      return std::make_unique<QuantizeKernel<uint8_t>>(*scaled, type);
    case ElementType::i4:
      return std::make_unique<QuantizeKernel<int8_t>>(*scaled, type);
    case ElementType::u16:
      return std::make_unique<QuantizeKernel<uint16_t>>(*scaled, type);
    case ElementType::i16:
      return std::make_unique<QuantizeKernel<int16_t>>(*scaled, type);
    default:
      return nullptr;
  }
}

std::unique_ptr<Kernel> make_dequantize(const StepContext& context) {
  if (context.fused() || !plain_f32_scale(context) || context.outputs[0].type != ElementType::f32)
    return nullptr;
  const auto scaled = scaled_tensor(context);
  if (!scaled) return nullptr;
  switch (context.inputs[0].type) {
    case ElementType::u8:
    case ElementType::u4:
      return std::make_unique<ByteKernel>(*scaled, Byte::u8, false);
    case ElementType::i8:
    case ElementType::i4:
      return std::make_unique<ByteKernel>(*scaled, Byte::i8, false);
    case ElementType::u16:
      return std::make_unique<DequantizeKernel<uint16_t>>(*scaled);
    case ElementType::i16:
      return std::make_unique<DequantizeKernel<int16_t>>(*scaled);
    case ElementType::i32:
      return std::make_unique<DequantizeKernel<int32_t>>(*scaled);
    default:
      return nullptr;
  }
}

// DynamicQuantizeLinear
// ------------------------------------------------------------------------------------------------------------

class DynamicQuantizeKernel final : public Kernel {
 public:
  explicit DynamicQuantizeKernel(int64_t count) : count_(count) {}
  void run(const KernelCall& call) const override {
    const DynamicRange range =
        quantize_dynamically(count_, static_cast<const float*>(call.inputs[0]), call.outputs[0], call.pool);
    if (wants_scale) *static_cast<float*>(call.outputs[1]) = range.scale;
    if (wants_zero) *static_cast<uint8_t*>(call.outputs[2]) = range.zero_point;
  }
  std::string describe() const override { return "dynamic quantize"; }
  std::shared_ptr<const Kernel> resized(const PortSizes& ports) const override {
    const int64_t count = ports.input(0).count();
    if (count == 0) return nullptr;
    auto other = make_in_block<DynamicQuantizeKernel>(*this);
    other->count_ = count;
    return other;
  }
  bool wants_scale = false, wants_zero = false;

 private:
  int64_t count_;
};

std::unique_ptr<Kernel> make_dynamic_quantize(const StepContext& context) {
  if (context.fused() || !context.has_input(0) || !context.has_output(0)) return nullptr;
  if (context.inputs[0].type != ElementType::f32 || context.inputs[0].count() == 0) return nullptr;
  auto kernel = std::make_unique<DynamicQuantizeKernel>(context.inputs[0].count());
  kernel->wants_scale = context.has_output(1);
  kernel->wants_zero = context.has_output(2);
  return kernel;
}

}  // namespace

void linear_quantization_factories(std::vector<FactoryEntry>& table) {
  for (std::string_view domain : {"", "com.microsoft"}) {
    table.push_back({domain, "QuantizeLinear", make_quantize});
    table.push_back({domain, "DequantizeLinear", make_dequantize});
  }
  table.push_back({"", "DynamicQuantizeLinear", make_dynamic_quantize});
}

void quantized_factories(std::vector<FactoryEntry>& table) {
  linear_quantization_factories(table);
  quantized_product_factories(table);
  scaled_product_factories(table);
  quantized_convolution_factories(table);
  quantized_elementwise_factories(table);
  quantized_joining_factories(table);
  quantized_window_factories(table);
  block_quantized_factories(table);
  block_gathering_factories(table);
}

}  // namespace axrun::runtime
