// MatMulInteger and QLinearMatMul: exact products of bytes.
#include <algorithm>

#include "runtime/operators/byte_product.h"
#include "runtime/plan/kernel_block.h"

namespace axrun::runtime {
namespace {

using ir::ElementType;

/// Where the operands of a product stand among the inputs; -1 for a port the operator does not have.
struct ProductPorts {
  size_t a, a_zero, b, b_zero;
  int a_scale, b_scale, y_scale, y_zero;
};
constexpr ProductPorts integer_ports = {0, 2, 1, 3, -1, -1, -1, -1};
constexpr ProductPorts linear_ports = {0, 2, 3, 5, 1, 4, 6, 7};

class ProductKernel final : public Kernel {
 public:
  ProductKernel(const StepContext& context, const ProductPorts& ports, ProductShape shape)
      : ports_(ports),
        a_type_(*byte_input(context, ports.a)),
        y_type_(byte_type(context.outputs[0].type)),
        has_a_zero_(context.has_input(ports.a_zero)),
        product_(context, std::move(shape), a_type_, ports.b, ports.b_zero) {
    if (!y_type_) return;
    scale_per_column_ = context.inputs[static_cast<size_t>(ports_.b_scale)].count() > 1;
    plan_scratch();
  }

  void plan_scratch() {
    if (!y_type_) return;
    const auto lines = [](int64_t count) { return static_cast<size_t>((count + 15) / 16) * 64; };
    multipliers_at_ = lines(product_.shape().m * columns());
    product_at_ = multipliers_at_ + lines(columns());
  }

  void run(const KernelCall& call) const override {
    char* scratch = static_cast<char*>(call.scratch);
    auto* multipliers = reinterpret_cast<float*>(scratch + multipliers_at_);
    if (y_type_) read_multipliers(call, multipliers);
    const int64_t results = product_.shape().m * columns();
    const int32_t a_zero = has_a_zero_ ? byte_at(a_type_, call.inputs[ports_.a_zero]) : 0;
    product_.run(
        call, call.inputs[ports_.a], a_zero, scratch + product_at_,
        [&](int64_t p) {
          return y_type_ ? reinterpret_cast<int32_t*>(scratch)
                         : static_cast<int32_t*>(call.outputs[0]) + p * results;
        },
        [&](int64_t p, const int32_t* sums) {
          if (y_type_) requantize(call, multipliers, sums, static_cast<char*>(call.outputs[0]) + p * results);
        });
  }

  std::string describe() const override { return "byte product " + product_.describe(); }
  size_t scratch_bytes() const override { return product_at_ + product_.scratch_bytes(); }
  bool ignores_input(int k) const override { return product_.ignores_input(k); }
  double flops() const override { return product_.flops(); }
  std::shared_ptr<const Kernel> resized(const PortSizes& ports) const override {
    auto shape = read_product_shape(ports.input(ports_.a), ports.input(ports_.b));
    if (!shape || shape->k == 0 || ports.output(0).count() == 0) return nullptr;
    if (y_type_ && (ports.input(static_cast<size_t>(ports_.b_scale)).count() > 1) != scale_per_column_)
      return nullptr;
    auto other = make_in_block<ProductKernel>(*this);
    if (!other->product_.resize(std::move(*shape), ports)) return nullptr;
    other->plan_scratch();
    return other;
  }

 private:
  int64_t columns() const { return product_.shape().n; }

  /// a_scale * b_scale / y_scale, every operation rounded to float32.
  void read_multipliers(const KernelCall& call, float* multipliers) const {
    const auto scale = [&](int port) { return static_cast<const float*>(call.inputs[port]); };
    const int64_t count = scale_per_column_ ? columns() : 1;
    for (int64_t j = 0; j < count; ++j) {
      const float product = scale(ports_.a_scale)[0] * scale(ports_.b_scale)[j];
      multipliers[j] = product / scale(ports_.y_scale)[0];
    }
  }

  void requantize(const KernelCall& call, const float* multipliers, const int32_t* sums, char* y) const {
    const int32_t zero = byte_at(*y_type_, call.inputs[ports_.y_zero]);
    const int64_t n = columns(), grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(n, 1));
    call.pool.parallel_for(product_.shape().m, grain, [&](int64_t begin, int64_t end) {
      const int64_t rows = scale_per_column_ ? 1 : end - begin;
      for (int64_t i = begin; i < end; i += rows)
        requantize_row(*y_type_, rows * n, sums + i * n, multipliers, scale_per_column_, zero, y + i * n);
    });
  }

  ProductPorts ports_;
  Byte a_type_;
  std::optional<Byte> y_type_;  ///< empty: the sums themselves are the result
  bool has_a_zero_ = false, scale_per_column_ = false;
  ByteProduct product_;
  size_t multipliers_at_ = 0, product_at_ = 0;
};

std::unique_ptr<Kernel> make_product(const StepContext& context, const ProductPorts& ports) {
  if (context.fused() || !byte_input(context, ports.a) || !byte_input(context, ports.b)) return nullptr;
  const StepPort& a = context.inputs[ports.a];
  const StepPort& b = context.inputs[ports.b];
  auto shape = read_product_shape(a, b);
  if (!shape || context.outputs[0].count() == 0 || shape->k == 0) return nullptr;
  if (!single_or_absent(context, ports.a_zero, a.type)) return nullptr;
  if (!fits_columns(context, ports.b_zero, b.type, shape->n)) return nullptr;
  return std::make_unique<ProductKernel>(context, ports, std::move(*shape));
}

std::unique_ptr<Kernel> make_matmul_integer(const StepContext& context) {
  return make_product(context, integer_ports);
}

std::unique_ptr<Kernel> make_qlinear_matmul(const StepContext& context) {
  for (size_t k = 0; k < 8; ++k) {
    if (!context.has_input(k)) return nullptr;
  }
  const auto b_columns = context.inputs[3].rank() < 2 ? 1 : context.inputs[3].shape.back();
  if (!byte_input(context, 7) || !single_or_absent(context, 1, ElementType::f32) ||
      !fits_columns(context, 4, ElementType::f32, b_columns) ||
      !single_or_absent(context, 6, ElementType::f32) || context.inputs[7].count() != 1) {
    return nullptr;
  }
  return make_product(context, linear_ports);
}

}  // namespace

void quantized_product_factories(std::vector<FactoryEntry>& table) {
  table.push_back({"", "MatMulInteger", make_matmul_integer});
  table.push_back({"", "QLinearMatMul", make_qlinear_matmul});
}

}  // namespace axrun::runtime
