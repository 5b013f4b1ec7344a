#pragma once

// The register tile of all matrix products: `rows` x `vectors` sums kept in registers over k, then the
// epilogue.

#include "runtime/kernels/activation.h"
#include "runtime/kernels/isa/activation.h"
#include "runtime/kernels/isa/vector.h"

namespace axrun::runtime::AXRUN_ISA {

#if defined(AXRUN_ISA_avx512)
inline constexpr int tile_rows = 14;
#elif defined(AXRUN_ISA_avx2)
inline constexpr int tile_rows = 6;
#else
inline constexpr int tile_rows = 4;
#endif
inline constexpr int tile_vectors = 2;
inline constexpr int tile_columns = tile_vectors * lanes;
static inline int64_t round_up_to_tile(int64_t n) {
  return (n + tile_columns - 1) / tile_columns * tile_columns;
}
/// Rows of B that are fetched before they are read, where offsets say where they are: so many offsets more.
inline constexpr int offsets_ahead = 16;

struct Tile {
  int64_t k;
  const float* a;
  int64_t a_stride;  ///< between rows (row form) or between columns (column form)
  int64_t a_ahead;   ///< column form: distance to what will be read soon, and is fetched meanwhile
  const float* b;    ///< each row gives tile_columns readable floats
  int64_t b_row_stride;
  /// Stride form: distance to what will be read soon, and is fetched meanwhile; 0: it is near.
  int64_t b_ahead;
  /// Offset form: row i starts at b + b_offsets[i]. There are offsets_ahead more of them than rows.
  const int64_t* b_offsets;
  float* c;
  int64_t c_row_stride;
  int64_t columns;  ///< 1 to tile_columns; those past it are computed, not stored
  bool accumulate;  ///< add to C (a later block of k); otherwise bias and residual are added
  bool finish;      ///< last block of k: apply the activation
  float scale;
  const float* row_factor;
  const float* column_factor;
  const float* row_bias;
  const float* column_bias;
  const float* residual;
  int64_t residual_row_stride;
  float residual_scale;
  Activation activation;
  float alpha, beta;
};

/// How far ahead packed panels of A are fetched: they are read once per column tile, and large ones come from
/// memory.
inline constexpr int64_t packed_ahead = 512;

enum class AForm { columns, rows };
enum class BForm { stride, offsets };

/// Runs one tile of `rows` (1 to tile_rows) rows.
void run_tile(AForm a_form, BForm b_form, int64_t rows, const Tile& tile);

}  // namespace axrun::runtime::AXRUN_ISA
