#pragma once

#include <cstddef>
#include <cstdint>

namespace axrun::runtime {

class ThreadPool;

/// A matrix W[n][k] whose rows are quantized in blocks, each with a scale and a zero point:
///   W[j][i] = (field(j, i) - zero) * scale
/// Blocks have `block` fields, a power of two that is at least 16; those of a row's last one past k count for
/// nothing. Fields of 2, 4 or 8 `bits` fill bytes from the lowest bits on. No pointer needs an alignment but
/// its type's.
struct BlockQuantizedMatrix {
  int64_t n = 0, k = 0, block = 0;
  int bits = 4;
  const uint8_t* fields = nullptr;        ///< [n][blocks][block * bits / 8]
  const float* scales = nullptr;          ///< [n][blocks]
  const uint8_t* packed_zeros = nullptr;  ///< [n][blocks * bits / 8, rounded up]: fields again; or null
  const float* zeros = nullptr;           ///< [n][blocks]; or null. Neither: all are 2^(bits - 1)
};

/// C[m][n] = A[m][k] * transpose(W) + bias[n] in float32, all dense. W is never expanded as a whole: few rows
/// are multiplied by its fields where they lie, more by panels of it that a cache holds.
struct BlockQuantizedGemm {
  BlockQuantizedMatrix w;
  int64_t m = 0;
  const float* a = nullptr;
  const float* bias = nullptr;  ///< or null
  float* c = nullptr;
};

/// Depends on the sizes, not on the pointers.
size_t block_quantized_scratch_bytes(const BlockQuantizedGemm& product, int threads);

/// `scratch` has block_quantized_scratch_bytes(product, pool.threads()) bytes, aligned to 64. The result is
/// the same for every number of threads.
void block_quantized_gemm(const BlockQuantizedGemm& product, void* scratch, ThreadPool& pool);

}  // namespace axrun::runtime
