#pragma once

// The register tile of convolutions of bytes: rows of output channels, vectors of flat positions of a strip.

#include "runtime/kernels/isa/byte_words.h"

namespace axrun::runtime::AXRUN_ISA {

#if defined(AXRUN_ISA_avx512)
inline constexpr int byte_tile_rows = 14;
#elif defined(AXRUN_ISA_avx2)
inline constexpr int byte_tile_rows = 5;
#else
inline constexpr int byte_tile_rows = 4;
#endif
/// Vectors of a tile of one row.
inline constexpr int widest_byte_tile = 8;

struct ByteTile {
  int64_t planes, plane_words;  ///< of the strip
  int64_t taps;
  const int64_t* tap_offsets;
  const uint32_t* strip;    ///< at the first position
  const uint32_t* weights;  ///< [plane][tap][row]
  const uint32_t* start;    ///< of each row's sums
  uint32_t* sums;
  int64_t sums_stride;  ///< between rows
};

/// Positions [0, count) of `rows` rows (1 to byte_tile_rows). Sums up to the next multiple of
/// widest_byte_tile vectors are overwritten.
void run_byte_tiles(int64_t rows, int64_t count, ByteTile tile);

}  // namespace axrun::runtime::AXRUN_ISA
