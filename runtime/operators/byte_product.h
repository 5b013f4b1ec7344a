#pragma once

#include <algorithm>
#include <vector>

#include "runtime/operators/quantized_parts.h"

namespace axrun::runtime {

/// [batch..., m, k] x [batch..., k, n]; rows of A are folded into m where B is shared.
struct ProductShape {
  int64_t m = 0, n = 0, k = 0;
  bool b_transposed = false;                              ///< B is [n, k]; never with batches of its own
  std::vector<int64_t> a_offsets = {0}, b_offsets = {0};  ///< of each product of the batch
};

/// As numpy.matmul has it; empty for scalars.
std::optional<ProductShape> read_product_shape(Extents a, Extents b);
/// Of inputs of a step; empty also where they have too many dims.
std::optional<ProductShape> read_product_shape(const StepPort& a, const StepPort& b);

/// Whether input k is absent, or has one element of `type` for all columns or one per column.
bool fits_columns(const StepContext& context, size_t k, ir::ElementType type, int64_t columns);

/// The exact products of a step whose B are bytes: packed once where B and its zero points are constants,
/// otherwise in every run.
class ByteProduct {
 public:
  ByteProduct(const StepContext& context, ProductShape shape, Byte a_type, size_t b_port, size_t zero_port);

  /// For other sizes of the step's ports; false where it has to be made from a context.
  bool resize(ProductShape shape, const PortSizes& ports);

  const ProductShape& shape() const { return shape_; }
  bool packed() const { return packed_ != nullptr; }
  bool ignores_input(int k) const;
  double flops() const;
  /// "4x 32x64x128 packed"
  std::string describe() const;
  size_t scratch_bytes() const { return gemm_at_ + quantized_gemm_scratch_bytes(arguments(), threads_); }

  /// For product p of the batch: the sums of A's rows and B's columns go to sums(p), [m][n], and
  /// finish(p, sums) follows.
  template <class Sums, class Finish>
  void run(const KernelCall& call, const void* a, int32_t a_zero, void* scratch, Sums sums,
           Finish finish) const {
    int64_t packed_offset = -1;
    for (size_t p = 0; p < shape_.a_offsets.size(); ++p) {
      int32_t* const to = sums(static_cast<int64_t>(p));
      multiply(call, p, a, a_zero, static_cast<char*>(scratch), packed_offset, to);
      finish(static_cast<int64_t>(p), to);
    }
  }

 private:
  QuantizedGemmArguments arguments() const;
  void plan_scratch();
  void pack(const void* b, const void* zeros, int32_t* wide_zeros, void* to) const;
  /// `packed_offset` is that of the B which the scratch holds.
  void multiply(const KernelCall& call, size_t p, const void* a, int32_t a_zero, char* scratch,
                int64_t& packed_offset, int32_t* to) const;

  ProductShape shape_;
  Byte a_type_, b_type_;
  size_t b_port_, zero_port_;
  int threads_;
  bool has_zero_ = false, zero_per_column_ = false;
  PackedWeights packed_;
  size_t packed_at_ = 0, gemm_at_ = 0;
};

}  // namespace axrun::runtime
