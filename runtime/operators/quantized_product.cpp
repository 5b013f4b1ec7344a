// MatMulInteger and QLinearMatMul: exact products of bytes.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/operators/quantized_parts.h"

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

/// [batch..., m, k] x [batch..., k, n]; rows of A are folded into m where B is shared.
struct ProductShape {
  int64_t m = 0, n = 0, k = 0;
  std::vector<int64_t> a_offsets = {0}, b_offsets = {0};  ///< of each product of the batch
};

std::optional<ProductShape> read_shape(ir::Shape a, ir::Shape b) {
  if (a.empty() || b.empty()) return std::nullopt;
  if (a.size() == 1) a.insert(a.begin(), 1);
  if (b.size() == 1) b.push_back(1);
  ProductShape shape;
  shape.m = a[a.size() - 2];
  shape.k = a.back();
  shape.n = b.back();
  if (ir::element_count(b) == shape.k * shape.n) {
    for (size_t d = 0; d + 2 < a.size(); ++d) shape.m *= a[d];
    return shape;
  }
  const size_t rank = std::max(a.size(), b.size()) - 2;
  a.insert(a.begin(), rank + 2 - a.size(), 1);
  b.insert(b.begin(), rank + 2 - b.size(), 1);
  const ir::Shape a_strides = ir::row_major_strides(a), b_strides = ir::row_major_strides(b);
  for (size_t d = 0; d < rank; ++d) {
    const int64_t extent = std::max(a[d], b[d]);
    const std::vector<int64_t> a_before = shape.a_offsets, b_before = shape.b_offsets;
    shape.a_offsets.clear();
    shape.b_offsets.clear();
    for (size_t p = 0; p < a_before.size(); ++p) {
      for (int64_t i = 0; i < extent; ++i) {
        shape.a_offsets.push_back(a_before[p] + (a[d] == 1 ? 0 : i * a_strides[d]));
        shape.b_offsets.push_back(b_before[p] + (b[d] == 1 ? 0 : i * b_strides[d]));
      }
    }
  }
  return shape;
}

/// One parameter for all columns, or one per column.
bool fits_columns(const StepContext& context, size_t k, ElementType type, int64_t columns) {
  if (!context.has_input(k)) return true;
  const StepPort& port = context.inputs[k];
  return port.type == type && (port.count() == 1 || (port.rank() == 1 && port.count() == columns));
}

class ProductKernel final : public Kernel {
 public:
  ProductKernel(const StepContext& context, const ProductPorts& ports, ProductShape shape)
      : ports_(ports),
        shape_(std::move(shape)),
        a_type_(*byte_input(context, ports.a)),
        b_type_(*byte_input(context, ports.b)),
        y_type_(byte_type(context.outputs[0].type)),
        threads_(context.threads) {
    const StepPort& b = context.inputs[ports_.b];
    const bool has_zero = context.has_input(ports_.b_zero);
    has_a_zero_ = context.has_input(ports_.a_zero);
    has_b_zero_ = has_zero;
    zero_per_column_ = has_zero && context.inputs[ports_.b_zero].count() > 1;
    if (y_type_) scale_per_column_ = context.inputs[static_cast<size_t>(ports_.b_scale)].count() > 1;
    packed_bytes_ = quantized_gemm_packed_b_bytes(shape_.k, shape_.n);
    const ir::Tensor* zero = has_zero ? context.inputs[ports_.b_zero].constant : nullptr;
    if (b.constant != nullptr && (!has_zero || zero != nullptr) && shape_.b_offsets.size() == 1) {
      const void* zeros = zero == nullptr ? nullptr : zero->data();
      jit::PreparedKey key{
          fmt::format("quantized gemm b {} {} {}", static_cast<int>(b_type_), shape_.k, shape_.n),
          {{b.constant->data(), b.constant->bytes()}}};
      if (zero != nullptr) key.constants.push_back({zeros, zero->bytes()});
      packed_ = context.packs.get(key, packed_bytes_, [&](void* to) {
        std::vector<int32_t> wide(static_cast<size_t>(shape_.n));
        pack(b.constant->data(), zeros, wide.data(), to);
      });
    }
    plan_scratch();
  }

  void run(const KernelCall& call) const override {
    char* scratch = static_cast<char*>(call.scratch);
    const auto* a = static_cast<const char*>(call.inputs[ports_.a]);
    const auto* b = static_cast<const char*>(call.inputs[ports_.b]);
    QuantizedGemmArguments g = arguments();
    g.a_zero_point = has_a_zero_ ? byte_at(a_type_, call.inputs[ports_.a_zero]) : 0;
    auto* multipliers = reinterpret_cast<float*>(scratch + multipliers_at_);
    if (y_type_) read_multipliers(call, multipliers);
    int64_t packed_offset = -1;
    for (size_t p = 0; p < shape_.a_offsets.size(); ++p) {
      if (packed_ == nullptr && packed_offset != shape_.b_offsets[p]) {
        packed_offset = shape_.b_offsets[p];
        const void* zeros = has_b_zero_ ? call.inputs[ports_.b_zero] : nullptr;
        pack(b + packed_offset, zeros,
             reinterpret_cast<int32_t*>(scratch + multipliers_at_ + columns_bytes()), scratch + packed_at_);
      }
      g.packed_b = packed_ != nullptr ? packed_.get() : scratch + packed_at_;
      g.a = a + shape_.a_offsets[p];
      const int64_t results = static_cast<int64_t>(p) * shape_.m * shape_.n;
      g.c = y_type_ ? reinterpret_cast<int32_t*>(scratch) : static_cast<int32_t*>(call.outputs[0]) + results;
      quantized_gemm(g, scratch + gemm_at_, call.pool);
      if (y_type_) requantize(call, multipliers, g.c, static_cast<char*>(call.outputs[0]) + results);
    }
  }

  std::string describe() const override {
    return fmt::format("byte product {}{}x{}x{}{}",
                       shape_.a_offsets.size() > 1 ? fmt::format("{}x ", shape_.a_offsets.size()) : "",
                       shape_.m, shape_.n, shape_.k, packed_ ? " packed" : "");
  }
  size_t scratch_bytes() const override { return scratch_bytes_; }
  bool ignores_input(int k) const override {
    return packed_ != nullptr && (k == static_cast<int>(ports_.b) || k == static_cast<int>(ports_.b_zero));
  }
  double flops() const override {
    return 2.0 * static_cast<double>(shape_.a_offsets.size()) * static_cast<double>(shape_.m * shape_.n) *
           static_cast<double>(shape_.k);
  }

 private:
  QuantizedGemmArguments arguments() const {
    QuantizedGemmArguments g;
    g.m = shape_.m;
    g.n = shape_.n;
    g.k = shape_.k;
    g.a_type = a_type_;
    g.a_row_stride = shape_.k;
    g.c_row_stride = shape_.n;
    return g;
  }

  size_t columns_bytes() const { return static_cast<size_t>((shape_.n + 15) / 16) * 64; }

  /// Sums, multipliers and zero points per column, a packed B that is not constant, the product's own.
  void plan_scratch() {
    const auto sums = static_cast<size_t>(y_type_ ? (shape_.m * shape_.n + 15) / 16 * 64 : 0);
    multipliers_at_ = sums;
    packed_at_ = multipliers_at_ + 2 * columns_bytes();
    gemm_at_ = packed_at_ + (packed_ == nullptr ? (packed_bytes_ + 63) / 64 * 64 : 0);
    scratch_bytes_ = gemm_at_ + quantized_gemm_scratch_bytes(arguments(), threads_);
  }

  void pack(const void* b, const void* zeros, int32_t* wide_zeros, void* to) const {
    const int64_t count = zero_per_column_ ? shape_.n : 1;
    for (int64_t j = 0; zeros != nullptr && j < count; ++j) wide_zeros[j] = byte_at(b_type_, zeros, j);
    quantized_gemm_pack_b(b_type_, shape_.k, shape_.n, b, shape_.n, 1,
                          zeros == nullptr ? nullptr : wide_zeros, zero_per_column_, to);
  }

  /// a_scale * b_scale / y_scale, every operation rounded to float32.
  void read_multipliers(const KernelCall& call, float* multipliers) const {
    const auto scale = [&](int port) { return static_cast<const float*>(call.inputs[port]); };
    const int64_t count = scale_per_column_ ? shape_.n : 1;
    for (int64_t j = 0; j < count; ++j) {
      const float product = scale(ports_.a_scale)[0] * scale(ports_.b_scale)[j];
      multipliers[j] = product / scale(ports_.y_scale)[0];
    }
  }

  void requantize(const KernelCall& call, const float* multipliers, const int32_t* sums, char* y) const {
    const int32_t zero = byte_at(*y_type_, call.inputs[ports_.y_zero]);
    const int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(shape_.n, 1));
    call.pool.parallel_for(shape_.m, grain, [&](int64_t begin, int64_t end) {
      const int64_t rows = scale_per_column_ ? 1 : end - begin;
      for (int64_t i = begin; i < end; i += rows) {
        requantize_row(*y_type_, rows * shape_.n, sums + i * shape_.n, multipliers, scale_per_column_, zero,
                       y + i * shape_.n);
      }
    });
  }

  ProductPorts ports_;
  ProductShape shape_;
  Byte a_type_, b_type_;
  std::optional<Byte> y_type_;  ///< empty: the sums themselves are the result
  int threads_;
  bool has_a_zero_ = false, has_b_zero_ = false, zero_per_column_ = false, scale_per_column_ = false;
  PackedWeights packed_;
  size_t packed_bytes_ = 0, multipliers_at_ = 0, packed_at_ = 0, gemm_at_ = 0, scratch_bytes_ = 0;
};

std::unique_ptr<Kernel> make_product(const StepContext& context, const ProductPorts& ports) {
  if (context.fused() || !byte_input(context, ports.a) || !byte_input(context, ports.b)) return nullptr;
  const StepPort& a = context.inputs[ports.a];
  const StepPort& b = context.inputs[ports.b];
  auto shape = read_shape(a.shape, b.shape);
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
