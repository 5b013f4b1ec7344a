#include "runtime/operators/byte_product.h"

#include <fmt/format.h>

#include "runtime/operators/product_sizes.h"

namespace axrun::runtime {

std::optional<ProductShape> read_product_shape(const StepPort& a, const StepPort& b) {
  constexpr size_t most = Extents::most - 1;  // a vector becomes a matrix
  if (a.shape.size() > most || b.shape.size() > most) return std::nullopt;
  return read_product_shape(extents_of(a.shape), extents_of(b.shape));
}

std::optional<ProductShape> read_product_shape(Extents a, Extents b) {
  if (a.empty() || b.empty()) return std::nullopt;
  if (a.size() == 1) a.insert(0, 1);
  if (b.size() == 1) b.push_back(1);
  ProductShape shape;
  shape.m = a[a.size() - 2];
  shape.k = a.back();
  shape.n = b.back();
  if (b.count() == shape.k * shape.n) {
    for (size_t d = 0; d + 2 < a.size(); ++d) shape.m *= a[d];
    return shape;
  }
  const size_t rank = std::max(a.size(), b.size()) - 2;
  while (a.size() < rank + 2) a.insert(0, 1);
  while (b.size() < rank + 2) b.insert(0, 1);
  const Extents a_strides = a.strides(), b_strides = b.strides();
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

bool fits_columns(const StepContext& context, size_t k, ir::ElementType type, int64_t columns) {
  if (!context.has_input(k)) return true;
  const StepPort& port = context.inputs[k];
  return port.type == type &&
         (port.count() == 1 || (port.count() == columns && port.shape.back() == columns));
}

ByteProduct::ByteProduct(const StepContext& context, ProductShape shape, Byte a_type, size_t b_port,
                         size_t zero_port)
    : shape_(std::move(shape)),
      a_type_(a_type),
      b_type_(*byte_input(context, b_port)),
      b_port_(b_port),
      zero_port_(zero_port),
      threads_(context.threads),
      has_zero_(context.has_input(zero_port)) {
  const StepPort& b = context.inputs[b_port];
  zero_per_column_ = has_zero_ && context.inputs[zero_port].count() > 1;
  const size_t packed_bytes = quantized_gemm_packed_b_bytes(shape_.k, shape_.n);
  const ir::Tensor* zero = has_zero_ ? context.inputs[zero_port].constant : nullptr;
  if (b.constant != nullptr && (!has_zero_ || zero != nullptr) && shape_.b_offsets.size() == 1) {
    const void* zeros = zero == nullptr ? nullptr : zero->data();
    jit::PreparedKey key{fmt::format("quantized gemm b {} {} {}{}", static_cast<int>(b_type_), shape_.k,
                                     shape_.n, shape_.b_transposed ? " transposed" : ""),
                         {{b.constant->data(), b.constant->bytes()}}};
    if (zero != nullptr) key.constants.push_back({zeros, zero->bytes()});
    packed_ = context.packs.get(key, packed_bytes, [&](void* to) {
      std::vector<int32_t> wide(static_cast<size_t>(shape_.n));
      pack(b.constant->data(), zeros, wide.data(), to);
    });
  }
  plan_scratch();
}

void ByteProduct::plan_scratch() {
  if (packed()) return;
  packed_at_ = static_cast<size_t>((shape_.n + 15) / 16) * 64;
  gemm_at_ = packed_at_ + (quantized_gemm_packed_b_bytes(shape_.k, shape_.n) + 63) / 64 * 64;
}

bool ByteProduct::resize(ProductShape shape, const PortSizes& ports) {
  if (packed() && (shape.k != shape_.k || shape.n != shape_.n || shape.b_offsets.size() != 1)) return false;
  if (has_zero_ && (ports.input(zero_port_).count() > 1) != zero_per_column_) return false;
  shape_ = std::move(shape);
  plan_scratch();
  return true;
}

bool ByteProduct::ignores_input(int k) const {
  return packed() && (k == static_cast<int>(b_port_) || k == static_cast<int>(zero_port_));
}

double ByteProduct::flops() const {
  return 2.0 * static_cast<double>(shape_.a_offsets.size()) * static_cast<double>(shape_.m * shape_.n) *
         static_cast<double>(shape_.k);
}

std::string ByteProduct::describe() const {
  const size_t batch = shape_.a_offsets.size();
  return fmt::format("{}{}x{}x{}{}", batch > 1 ? fmt::format("{}x ", batch) : "", shape_.m, shape_.n,
                     shape_.k, packed() ? " packed" : "");
}

QuantizedGemmArguments ByteProduct::arguments() const {
  QuantizedGemmArguments g;
  g.m = shape_.m;
  g.n = shape_.n;
  g.k = shape_.k;
  g.a_type = a_type_;
  g.a_row_stride = shape_.k;
  g.c_row_stride = shape_.n;
  return g;
}

void ByteProduct::pack(const void* b, const void* zeros, int32_t* wide_zeros, void* to) const {
  const int64_t count = zero_per_column_ ? shape_.n : 1;
  for (int64_t j = 0; zeros != nullptr && j < count; ++j) wide_zeros[j] = byte_at(b_type_, zeros, j);
  quantized_gemm_pack_b(b_type_, shape_.k, shape_.n, b, shape_.b_transposed ? 1 : shape_.n,
                        shape_.b_transposed ? shape_.k : 1, zeros == nullptr ? nullptr : wide_zeros,
                        zero_per_column_, to);
}

void ByteProduct::multiply(const KernelCall& call, size_t p, const void* a, int32_t a_zero, char* scratch,
                           int64_t& packed_offset, int32_t* to) const {
  if (!packed() && packed_offset != shape_.b_offsets[p]) {
    packed_offset = shape_.b_offsets[p];
    pack(static_cast<const char*>(call.inputs[b_port_]) + packed_offset,
         has_zero_ ? call.inputs[zero_port_] : nullptr, reinterpret_cast<int32_t*>(scratch),
         scratch + packed_at_);
  }
  QuantizedGemmArguments g = arguments();
  g.a = static_cast<const char*>(a) + shape_.a_offsets[p];
  g.a_zero_point = a_zero;
  g.packed_b = packed() ? packed_.get() : scratch + packed_at_;
  g.c = to;
  quantized_gemm(g, scratch + gemm_at_, call.pool);
}

}  // namespace axrun::runtime
