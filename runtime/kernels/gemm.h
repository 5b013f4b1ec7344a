#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/kernels/activation.h"

namespace axrun::runtime {

class ThreadPool;

inline constexpr int max_batch_rank = 8;

/// C[b][m][n] = epilogue(A[b][m][k] * B[b][k][n]) in float32, for every index b of the batch.
///
/// Strides are in elements and may be any value, so a transposed operand is one with its strides exchanged;
/// fastest when one stride of each operand is 1. C's columns are contiguous. C overlaps neither A nor B. Give
/// either the plain or the packed form of an operand; a packed operand is shared by the whole batch. k == 0
/// gives epilogue(0).
struct GemmArguments {
  int64_t m = 0, n = 0, k = 0;
  const float* a = nullptr;
  int64_t a_row_stride = 0, a_column_stride = 1;
  const float* b = nullptr;
  int64_t b_row_stride = 0, b_column_stride = 1;
  const float* packed_a = nullptr;  ///< from gemm_pack_a
  const float* packed_b = nullptr;  ///< from gemm_pack_b
  float* c = nullptr;
  int64_t c_row_stride = 0;
  Epilogue epilogue;

  /// The batch is an n-dimensional grid, outermost first; a stride of 0 broadcasts. Rank 0 is one product.
  int batch_rank = 0;
  int64_t batch_extents[max_batch_rank] = {};
  int64_t a_batch_strides[max_batch_rank] = {};
  int64_t b_batch_strides[max_batch_rank] = {};
  int64_t c_batch_strides[max_batch_rank] = {};
  int64_t residual_batch_strides[max_batch_rank] = {};
};

/// Bytes of scratch `gemm` needs (0 is common). Depends on the shape, strides, on which operands are packed
/// and on which parts of the epilogue there are, not on the pointers' values: non-null placeholders are
/// enough.
size_t gemm_scratch_bytes(const GemmArguments& arguments, int threads);

/// Runs the product. `scratch` has gemm_scratch_bytes(arguments, pool.threads()) bytes, aligned to 64.
/// Never allocates. The result is the same for every number of threads.
void gemm(const GemmArguments& arguments, void* scratch, ThreadPool& pool);

/// Columns [first, last) of a product without a batch whose B is packed, on the calling thread; the same bits
/// as in the others' company, whichever they are. `first` is a multiple of gemm_panel_columns(), `last` is
/// one or n. `scratch` has gemm_columns_scratch_bytes(arguments) bytes.
void gemm_columns(const GemmArguments& arguments, int64_t first, int64_t last, void* scratch);
size_t gemm_columns_scratch_bytes(const GemmArguments& arguments);
int64_t gemm_panel_columns();

/// A product without a batch on the calling thread. `scratch` has gemm_alone_scratch_bytes(n, k) bytes of at
/// least its n and k: one buffer serves products of many extents.
void gemm_alone(const GemmArguments& arguments, void* scratch);
size_t gemm_alone_scratch_bytes(int64_t n, int64_t k);

/// Bytes of B[k][n] in packed form, and the packing (once, at load). The form depends on the instruction-set
/// level in force (see dispatch.h). `packed` is aligned to 64.
size_t gemm_packed_b_bytes(int64_t k, int64_t n);
void gemm_pack_b(int64_t k, int64_t n, const float* b, int64_t row_stride, int64_t column_stride,
                 float* packed);

/// Likewise for A[m][k].
size_t gemm_packed_a_bytes(int64_t m, int64_t k);
void gemm_pack_a(int64_t m, int64_t k, const float* a, int64_t row_stride, int64_t column_stride,
                 float* packed);

}  // namespace axrun::runtime
