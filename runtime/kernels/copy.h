#pragma once

#include <cstddef>
#include <cstdint>

namespace axrun::runtime {

class ThreadPool;

inline constexpr int max_copy_rank = 16;

/// y[i0][i1]... = x[i0][i1]... with any strides on both sides (in elements; 0 or negative allowed on x):
/// transposes, slices, concatenation parts, broadcasts (Expand), reversal. `x` and `y` point at index 0; they
/// do not overlap.
struct CopyShape {
  int rank = 0;
  int64_t extents[max_copy_rank] = {};
  int64_t x_strides[max_copy_rank] = {};
  int64_t y_strides[max_copy_rank] = {};
};

/// element_bytes is 1, 2, 4, 8 or 16. Dims are merged and reordered as suits.
void copy_strided(size_t element_bytes, const CopyShape& shape, const void* x, void* y, ThreadPool& pool);

/// Y = X transposed: Y's dim d is X's dim permutation[d]; X contiguous with shape extents[rank].
void transpose(size_t element_bytes, int rank, const int64_t* extents, const int64_t* permutation,
               const void* x, void* y, ThreadPool& pool);

/// Y[outer][indices][row_bytes] = X[outer][rows][row_bytes] at row indices[i]. A negative index counts from
/// the end. Returns false, with Y unspecified, if an index is outside [-rows, rows).
bool gather_rows(int64_t outer, int64_t rows, int64_t row_bytes, int64_t index_count, const int64_t* indices,
                 const void* x, void* y, ThreadPool& pool);

}  // namespace axrun::runtime
