// com.microsoft DynamicQuantizeMatMul, MatMulIntegerToFloat and QGemm: exact products of bytes, then the
// scales and what is added.
#include <fmt/format.h>

#include "runtime/operators/byte_product.h"
#include "runtime/operators/product_sizes.h"
#include "runtime/plan/kernel_block.h"

namespace axrun::runtime {
namespace {

using ir::ElementType;

/// Where the operands stand among the inputs; -1 for a port the operator does not have.
struct ScaledPorts {
  size_t a, b, b_scale, b_zero;
  int a_scale, a_zero;  ///< -1: A is f32, quantised in the run
  int bias;             ///< f32 per column, added to the result
  int added;            ///< i32, added to the sums
  int y_scale, y_zero;
};
constexpr ScaledPorts dynamic_ports = {0, 1, 2, 3, -1, -1, 4, -1, -1, -1};
constexpr ScaledPorts to_float_ports = {0, 1, 3, 5, 2, 4, 6, -1, -1, -1};
constexpr ScaledPorts gemm_ports = {0, 3, 4, 5, 1, 2, -1, 6, 7, 8};

bool has(const StepContext& context, int port) {
  return port >= 0 && context.has_input(static_cast<size_t>(port));
}

/// What the node says, whatever its sizes are.
struct ScaledSetup {
  bool is_gemm = false;       ///< A and B are matrices
  bool a_transposed = false;  ///< A is [k, m]
  bool b_transposed = false;
  float alpha = 1;

  /// Empty where there is no such product, or none.
  std::optional<ProductShape> shape_of(const Extents& a, const Extents& b) const {
    if (!is_gemm) {
      auto shape = read_product_shape(a, b);
      return shape && shape->k > 0 ? shape : std::nullopt;
    }
    ProductShape shape;
    shape.m = a[a_transposed ? 1 : 0];
    shape.n = b[b_transposed ? 0 : 1];
    shape.k = a[a_transposed ? 0 : 1];
    shape.b_transposed = b_transposed;
    return shape.k > 0 ? std::optional(shape) : std::nullopt;
  }
};

/// How what is added to the sums broadcasts.
struct AddedStrides {
  int64_t row = 0, column = 0;

  AddedStrides() = default;
  template <typename Dims>
  explicit AddedStrides(const Dims& added) {
    const size_t rank = added.size();
    column = rank > 0 && added[rank - 1] > 1 ? 1 : 0;
    row = rank > 1 && added[0] > 1 ? added[1] : 0;
  }
};

class ScaledProductKernel final : public Kernel {
 public:
  ScaledProductKernel(const StepContext& context, const ScaledPorts& ports, ProductShape shape,
                      const ScaledSetup& setup)
      : ports_(ports),
        s_(setup),
        a_type_(byte_input(context, ports.a)),
        y_type_(byte_type(context.outputs[0].type)),
        has_a_zero_(has(context, ports.a_zero)),
        has_bias_(has(context, ports.bias)),
        has_added_(has(context, ports.added)),
        scale_per_column_(context.inputs[ports.b_scale].count() > 1),
        a_count_(context.inputs[ports.a].count()),
        added_(has_added_ ? AddedStrides(context.inputs[static_cast<size_t>(ports.added)].shape)
                          : AddedStrides()),
        product_(context, std::move(shape), a_type_.value_or(Byte::u8), ports.b, ports.b_zero) {
    plan_scratch();
  }

  void plan_scratch() {
    const auto lines = [](int64_t bytes) { return static_cast<size_t>((bytes + 63) / 64 * 64); };
    a_at_ = lines(4 * columns());
    sums_at_ = a_at_ + (copies_a() ? lines(a_count_) : 0);
    product_at_ = sums_at_ + (y_type_ ? lines(4 * results()) : 0);
  }

  void run(const KernelCall& call) const override {
    char* const scratch = static_cast<char*>(call.scratch);
    auto* const scales = reinterpret_cast<float*>(scratch);
    const void* a = call.inputs[ports_.a];
    int32_t a_zero = has_a_zero_ ? byte_at(*a_type_, call.inputs[ports_.a_zero]) : 0;
    float factor = 1;
    if (!a_type_) {
      const DynamicRange range =
          quantize_dynamically(a_count_, static_cast<const float*>(a), scratch + a_at_, call.pool);
      a_zero = range.zero_point;
      factor = range.scale;
    } else {
      factor = *static_cast<const float*>(call.inputs[ports_.a_scale]);
    }
    if (s_.a_transposed) {
      const int64_t extents[] = {product_.shape().k, product_.shape().m}, turned[] = {1, 0};
      transpose(1, 2, extents, turned, a, scratch + a_at_, call.pool);
    }
    read_scales(call, factor * s_.alpha, scales);
    product_.run(
        call, copies_a() ? scratch + a_at_ : a, a_zero, scratch + product_at_,
        [&](int64_t p) {
          return y_type_ ? reinterpret_cast<int32_t*>(scratch + sums_at_)
                         : static_cast<int32_t*>(call.outputs[0]) + p * results();
        },
        [&](int64_t p, int32_t* sums) { finish(call, p, scales, sums); });
  }

  std::string describe() const override {
    return fmt::format("{}byte product {}{}", a_type_ ? "" : "dynamic quantize, ", product_.describe(),
                       y_type_ ? "" : " to float");
  }
  size_t scratch_bytes() const override { return product_at_ + product_.scratch_bytes(); }
  bool ignores_input(int k) const override { return product_.ignores_input(k); }
  double flops() const override { return product_.flops(); }
  std::shared_ptr<const Kernel> resized(const PortSizes& ports) const override {
    const Extents a = ports.input(ports_.a);
    auto shape = s_.shape_of(a, ports.input(ports_.b));
    if (!shape || ports.output(0).count() == 0) return nullptr;
    if ((ports.input(ports_.b_scale).count() > 1) != scale_per_column_) return nullptr;
    auto other = make_in_block<ScaledProductKernel>(*this);
    if (!other->product_.resize(std::move(*shape), ports)) return nullptr;
    other->a_count_ = a.count();
    if (has_added_) other->added_ = AddedStrides(ports.input(static_cast<size_t>(ports_.added)));
    other->plan_scratch();
    return other;
  }

 private:
  int64_t columns() const { return product_.shape().n; }
  int64_t results() const { return product_.shape().m * columns(); }
  bool copies_a() const { return !a_type_ || s_.a_transposed; }

  /// factor * b_scale for every column, divided by y_scale where there is one; every operation rounded to
  /// float32.
  void read_scales(const KernelCall& call, float factor, float* scales) const {
    const auto* given = static_cast<const float*>(call.inputs[ports_.b_scale]);
    for (int64_t j = 0; j < columns(); ++j) scales[j] = factor * given[scale_per_column_ ? j : 0];
    if (!y_type_) return;
    const float y_scale = *static_cast<const float*>(call.inputs[ports_.y_scale]);
    for (int64_t j = 0; j < columns(); ++j) scales[j] /= y_scale;
  }

  /// From the sums of product p to its results, which may be in the same place.
  void finish(const KernelCall& call, int64_t p, const float* scales, int32_t* sums) const {
    const int64_t n = columns(), grain = std::max<int64_t>(1, 16384 / n);
    const auto* added = has_added_ ? static_cast<const int32_t*>(call.inputs[ports_.added]) : nullptr;
    const auto* bias = has_bias_ ? static_cast<const float*>(call.inputs[ports_.bias]) : nullptr;
    const int32_t y_zero = y_type_ ? byte_at(*y_type_, call.inputs[ports_.y_zero]) : 0;
    call.pool.parallel_for(product_.shape().m, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        int32_t* const row = sums + i * n;
        const int64_t at = p * results() + i * n;
        if (added != nullptr) add_row(added + i * added_.row, row);
        if (y_type_) {
          requantize_row(*y_type_, n, row, scales, true, y_zero, static_cast<char*>(call.outputs[0]) + at);
        } else {
          scale_sums_row(n, row, 1.0f, scales, bias, static_cast<float*>(call.outputs[0]) + at);
        }
      }
    });
  }

  void add_row(const int32_t* added, int32_t* row) const {
    for (int64_t j = 0; j < columns(); ++j) {
      const auto value = static_cast<uint32_t>(added[j * added_.column]);  // sums wrap around
      row[j] = static_cast<int32_t>(static_cast<uint32_t>(row[j]) + value);
    }
  }

  ScaledPorts ports_;
  ScaledSetup s_;
  std::optional<Byte> a_type_;  ///< empty: A is f32
  std::optional<Byte> y_type_;  ///< empty: the result is f32
  bool has_a_zero_, has_bias_, has_added_, scale_per_column_;
  int64_t a_count_;
  AddedStrides added_;
  ByteProduct product_;
  size_t a_at_ = 0, sums_at_ = 0, product_at_ = 0;
};

/// Whether scales, zero points and bias have types and shapes that the kernel covers.
bool covers(const StepContext& context, const ScaledPorts& ports, const ProductShape& shape) {
  const auto one = [&](int port, ElementType type) {
    return port < 0 || single_or_absent(context, static_cast<size_t>(port), type);
  };
  return context.has_input(ports.b_scale) && one(ports.a_scale, ElementType::f32) &&
         one(ports.a_zero, context.inputs[ports.a].type) &&
         fits_columns(context, ports.b_scale, ElementType::f32, shape.n) &&
         fits_columns(context, ports.b_zero, context.inputs[ports.b].type, shape.n) &&
         (!has(context, ports.bias) ||
          context.inputs[static_cast<size_t>(ports.bias)].type == ElementType::f32) &&
         one(ports.y_scale, ElementType::f32) && one(ports.y_zero, context.outputs[0].type);
}

std::unique_ptr<Kernel> make_matmul(const StepContext& context, const ScaledPorts& ports) {
  if (context.fused() || !byte_input(context, ports.b) || !context.has_output(0) ||
      context.outputs[0].type != ElementType::f32)
    return nullptr;
  auto shape = read_product_shape(context.inputs[ports.a], context.inputs[ports.b]);
  if (!shape || context.outputs[0].count() == 0 || shape->k == 0) return nullptr;
  if (!covers(context, ports, *shape)) return nullptr;
  return std::make_unique<ScaledProductKernel>(context, ports, std::move(*shape), ScaledSetup{});
}

std::unique_ptr<Kernel> make_dynamic_matmul(const StepContext& context) {
  if (!context.has_input(0) || context.inputs[0].type != ElementType::f32) return nullptr;
  return make_matmul(context, dynamic_ports);
}
std::unique_ptr<Kernel> make_matmul_to_float(const StepContext& context) {
  return byte_input(context, 0) ? make_matmul(context, to_float_ports) : nullptr;
}

std::unique_ptr<Kernel> make_gemm(const StepContext& context) {
  const ScaledPorts& ports = gemm_ports;
  if (context.fused() || !byte_input(context, ports.a) || !byte_input(context, ports.b) ||
      !context.has_output(0) || context.outputs[0].count() == 0)
    return nullptr;
  ScaledSetup setup;
  setup.is_gemm = true;
  setup.a_transposed = context.integer("transA", 0) != 0;
  setup.alpha = static_cast<float>(context.real("alpha", 1));
  setup.b_transposed = context.integer("transB", 0) != 0;
  auto shape =
      setup.shape_of(extents_of(context.inputs[ports.a].shape), extents_of(context.inputs[ports.b].shape));
  if (!shape || !covers(context, ports, *shape)) return nullptr;
  return std::make_unique<ScaledProductKernel>(context, ports, std::move(*shape), setup);
}

}  // namespace

void scaled_product_factories(std::vector<FactoryEntry>& table) {
  constexpr std::string_view microsoft = "com.microsoft";
  table.push_back({microsoft, "DynamicQuantizeMatMul", make_dynamic_matmul});
  table.push_back({microsoft, "MatMulIntegerToFloat", make_matmul_to_float});
  table.push_back({microsoft, "QGemm", make_gemm});
}

}  // namespace axrun::runtime
