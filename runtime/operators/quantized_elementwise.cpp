// com.microsoft operators on bytes, element by element: sums and products of two tensors, and functions of
// one, which are tables of 256 results.
#include <algorithm>
#include <array>
#include <limits>

#include "ir/evaluate.h"
#include "ir/operator.h"
#include "runtime/operators/product_sizes.h"
#include "runtime/operators/quantized_parts.h"
#include "runtime/plan/kernel_block.h"

namespace axrun::runtime {
namespace {

using ir::ElementType;

/// Rounded half to even into [low, high]; NaN gives 0.
inline float nearest(float value, float low, float high) {
  constexpr float magic = 12582912.0f;  // 1.5 * 2^23: takes away the fraction
  const float bounded = value < low ? low : value > high ? high : value;
  return value != value ? 0.0f : (bounded + magic) - magic;
}

/// a op b, broadcast; every rounding to float32 where the definition has it.
class PairKernel final : public Kernel {
 public:
  PairKernel(const StepContext& context, bool adds) : type_(*byte_input(context, 0)), adds_(adds) {
    for (size_t k : {size_t{2}, size_t{5}, size_t{7}}) has_zero_[k] = context.has_input(k);
    size(extents_of(context.inputs[0].shape), extents_of(context.inputs[3].shape),
         extents_of(context.outputs[0].shape));
  }

  void size(Extents a, Extents b, const Extents& y) {
    count_ = y.count();
    axes_.clear();
    Extents strides[2];
    for (size_t side = 0; side < 2; ++side) {
      Extents& shape = side == 0 ? a : b;
      while (shape.size() < y.size()) shape.insert(0, 1);
      strides[side] = shape.strides();
      for (size_t d = 0; d < y.size(); ++d) {
        if (shape[d] == 1) strides[side][d] = 0;
      }
    }
    // Neighbouring dimensions that both sides walk as one are merged, from the last one on.
    for (size_t d = y.size(); d-- > 0;) {
      if (y[d] == 1) continue;
      if (!axes_.empty()) {
        Axis& inner = axes_.back();
        if (strides[0][d] == inner.a * inner.extent && strides[1][d] == inner.b * inner.extent) {
          inner.extent *= y[d];
          continue;
        }
      }
      axes_.push_back({y[d], strides[0][d], strides[1][d]});
    }
    if (axes_.empty()) axes_.push_back({1, 0, 0});
  }

  void run(const KernelCall& call) const override {
    if (type_ == Byte::u8) {
      run_typed<uint8_t>(call);
    } else {
      run_typed<int8_t>(call);
    }
  }
  std::string describe() const override { return adds_ ? "add bytes" : "multiply bytes"; }
  std::shared_ptr<const Kernel> resized(const PortSizes& ports) const override {
    const Extents y = ports.output(0);
    if (y.count() == 0) return nullptr;
    auto other = make_in_block<PairKernel>(*this);
    other->size(ports.input(0), ports.input(3), y);
    return other;
  }

 private:
  struct Axis {
    int64_t extent, a, b;
  };
  struct Parameters {
    float a_scale, b_scale, y_scale;
    int32_t a_zero, b_zero, y_zero;
  };

  Parameters read(const KernelCall& call) const {
    const auto scale = [&](size_t k) { return *static_cast<const float*>(call.inputs[k]); };
    const auto zero = [&](size_t k) { return has_zero_[k] ? byte_at(type_, call.inputs[k]) : 0; };
    return {scale(1), scale(4), scale(6), zero(2), zero(5), zero(7)};
  }

  template <typename T>
  void run_typed(const KernelCall& call) const {
    const Parameters p = read(call);
    const int64_t columns = axes_[0].extent;
    const int64_t grain = std::max<int64_t>(1, 16384 / columns);
    call.pool.parallel_for(count_ / columns, grain, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        int64_t a = 0, b = 0, rest = row;
        for (size_t k = 1; k < axes_.size(); ++k) {
          a += rest % axes_[k].extent * axes_[k].a;
          b += rest % axes_[k].extent * axes_[k].b;
          rest /= axes_[k].extent;
        }
        const T* from_a = static_cast<const T*>(call.inputs[0]) + a;
        const T* from_b = static_cast<const T*>(call.inputs[3]) + b;
        T* to = static_cast<T*>(call.outputs[0]) + row * columns;
        if (adds_) {
          add_row(p, columns, from_a, from_b, to);
        } else {
          multiply_row(p, columns, from_a, from_b, to);
        }
      }
    });
  }

  /// a * ra + (b * rb + fixed), each product added in one rounding.
  template <typename T>
  void add_row(const Parameters& p, int64_t columns, const T* a, const T* b, T* y) const {
    constexpr auto low = static_cast<float>(std::numeric_limits<T>::min());
    constexpr auto high = static_cast<float>(std::numeric_limits<T>::max());
    const double ra = p.a_scale / p.y_scale, rb = p.b_scale / p.y_scale;
    const auto b_part = static_cast<float>(rb * p.b_zero);
    const auto zeros = static_cast<float>(ra * p.a_zero + static_cast<double>(b_part));
    const double fixed = static_cast<float>(p.y_zero) - zeros;
    const int64_t a_step = axes_[0].a, b_step = axes_[0].b;
    for (int64_t j = 0; j < columns; ++j) {
      const auto with_b = static_cast<float>(static_cast<double>(b[j * b_step]) * rb + fixed);
      const auto sum =
          static_cast<float>(static_cast<double>(a[j * a_step]) * ra + static_cast<double>(with_b));
      y[j] = static_cast<T>(nearest(sum, low, high));
    }
  }

  template <typename T>
  void multiply_row(const Parameters& p, int64_t columns, const T* a, const T* b, T* y) const {
    constexpr auto low = static_cast<float>(std::numeric_limits<T>::min());
    constexpr auto high = static_cast<float>(std::numeric_limits<T>::max());
    const float ratio = p.a_scale * p.b_scale / p.y_scale;
    const auto zero = static_cast<float>(p.y_zero);
    const int64_t a_step = axes_[0].a, b_step = axes_[0].b;
    for (int64_t j = 0; j < columns; ++j) {
      const int32_t product = (a[j * a_step] - p.a_zero) * (b[j * b_step] - p.b_zero);
      y[j] = static_cast<T>(nearest(static_cast<float>(product) * ratio + zero, low, high));
    }
  }

  Byte type_;
  bool adds_;
  int64_t count_ = 0;
  bool has_zero_[8] = {};
  std::vector<Axis> axes_;  ///< of the result, innermost first
};

std::unique_ptr<Kernel> make_pair(const StepContext& context, bool adds) {
  if (context.fused() || context.outputs[0].count() == 0 || context.outputs[0].shape.size() > Extents::most)
    return nullptr;
  const auto type = byte_input(context, 0);
  if (!type || byte_input(context, 3) != type || context.outputs[0].type != context.inputs[0].type)
    return nullptr;
  for (size_t k : {size_t{1}, size_t{4}, size_t{6}}) {
    if (!context.has_input(k) || !single_or_absent(context, k, ElementType::f32)) return nullptr;
  }
  for (size_t k : {size_t{2}, size_t{5}, size_t{7}}) {
    if (!single_or_absent(context, k, context.inputs[0].type)) return nullptr;
  }
  return std::make_unique<PairKernel>(context, adds);
}
std::unique_ptr<Kernel> make_add(const StepContext& context) { return make_pair(context, true); }
std::unique_ptr<Kernel> make_multiply(const StepContext& context) { return make_pair(context, false); }

/// A function of one byte.
class ByteTableKernel final : public Kernel {
 public:
  using Table = std::array<uint8_t, 256>;
  ByteTableKernel(std::shared_ptr<const Table> table, int64_t count)
      : table_(std::move(table)), count_(count) {}
  void run(const KernelCall& call) const override {
    const auto* x = static_cast<const uint8_t*>(call.inputs[0]);
    auto* y = static_cast<uint8_t*>(call.outputs[0]);
    call.pool.parallel_for(count_, 65536, [&](int64_t begin, int64_t end) {
      const uint8_t* const table = table_->data();
      for (int64_t i = begin; i < end; ++i) y[i] = table[x[i]];
    });
  }
  std::string describe() const override { return "table of bytes"; }
  std::shared_ptr<const Kernel> resized(const PortSizes& ports) const override {
    return make_in_block<ByteTableKernel>(table_, ports.output(0).count());
  }
  std::vector<int> in_place() const override { return {0}; }

 private:
  std::shared_ptr<const Table> table_;
  int64_t count_;
};

/// The definition itself, evaluated on all 256 bytes; its parameters must be constant.
std::unique_ptr<Kernel> make_table(const StepContext& context) {
  if (context.fused() || !byte_input(context, 0) || context.outputs[0].type != context.inputs[0].type)
    return nullptr;
  std::vector<ir::OperandInfo> operands;
  std::vector<ir::Tensor> values;
  for (size_t k = 0; k < context.inputs.size(); ++k) {
    const StepPort& port = context.inputs[k];
    ir::OperandInfo info;
    info.present = port.present;
    info.type = port.type;
    if (port.present) info.dims = ir::to_dims(k == 0 ? ir::Shape{256} : port.shape);
    info.constant = port.constant;
    operands.push_back(info);
    if (k > 0 && port.present && port.constant == nullptr) return nullptr;
    values.push_back(k > 0 && port.present ? *port.constant : ir::Tensor());
  }
  values[0] = ir::Tensor::allocate(context.inputs[0].type, {256});
  for (int k = 0; k < 256; ++k) values[0].as<uint8_t>()[k] = static_cast<uint8_t>(k);
  const ir::Program program = ir::define_node(context.node, operands);
  values.resize(program.operands.size());
  const ir::Tensor results = ir::evaluate(program, values)[0];
  auto table = std::make_shared<ByteTableKernel::Table>();
  std::copy_n(results.as<uint8_t>(), table->size(), table->begin());
  return std::make_unique<ByteTableKernel>(std::move(table), context.outputs[0].count());
}

}  // namespace

void quantized_elementwise_factories(std::vector<FactoryEntry>& table) {
  constexpr std::string_view domain = "com.microsoft";
  table.push_back({domain, "QLinearAdd", make_add});
  table.push_back({domain, "QLinearMul", make_multiply});
  table.push_back({domain, "QLinearLeakyRelu", make_table});
  table.push_back({domain, "QLinearSigmoid", make_table});
}

}  // namespace axrun::runtime
