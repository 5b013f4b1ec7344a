#pragma once

#include "runtime/kernels/block_quantized.h"
#include "runtime/kernels/isa/table.h"
#include "runtime/kernels/isa/vector.h"

namespace axrun::runtime::AXRUN_ISA {

/// Columns of the result that are computed together.
inline constexpr int64_t block_columns = 4;

// The table's entries of this family; contracts in table.h.
int64_t block_arranged_floats(const BlockQuantizedMatrix& w);
int64_t block_zeros_floats(const BlockQuantizedMatrix& w);
void block_arrange(const BlockQuantizedGemm& product, float* arranged);
void block_products(const BlockQuantizedGemm& product, const float* arranged, int64_t first, int64_t last,
                    float* zeros);
void block_unpack(const BlockPanel& panel, float* packed);

/// W is read in words of 32 bits, of which blocks have whole ones.
typedef uint32_t UnsignedVector __attribute__((vector_size(vector_bytes)));
typedef uint32_t WordVector __attribute__((vector_size(vector_bytes), aligned(1), may_alias));

struct BlockSizes {
  int64_t blocks, block_words, words, zeros_bytes;  ///< of a row of W, but for block_words
};

AXRUN_INLINE BlockSizes block_sizes(const BlockQuantizedMatrix& w) {
  BlockSizes s;
  s.blocks = divide_up(w.k, w.block);
  s.block_words = w.block * w.bits / 32;
  s.words = s.blocks * s.block_words;
  s.zeros_bytes = divide_up(s.blocks * w.bits, 8);
  return s;
}

}  // namespace axrun::runtime::AXRUN_ISA
