#include "runtime/kernels/isa/byte_conv_tile.h"

namespace axrun::runtime::AXRUN_ISA {
namespace {

template <bool bytes, int rows, int vectors>
void byte_tile(const ByteTile& t) {
  Words sums[rows][vectors];
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) sums[i][v] = broadcast_word(t.start[i]);
  }
  const uint32_t* weights = t.weights;
  const uint32_t* plane = t.strip;
  for (int64_t p = 0; p < t.planes; ++p, plane += t.plane_words) {
    for (int64_t tap = 0; tap < t.taps; ++tap) {
      const uint32_t* from = plane + t.tap_offsets[tap];
      asm("" : "+r"(from));  // one pointer with constant displacements, not a register per vector
      Words values[vectors];
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v) values[v] = load_words(from + v * lanes);
#pragma GCC unroll 16
      for (int i = 0; i < rows; ++i) {
        const Words weight = broadcast_word(weights[i]);
#pragma GCC unroll 8
        for (int v = 0; v < vectors; ++v) {
          sums[i][v] =
              bytes ? dot_bytes(sums[i][v], values[v], weight) : dot_wide(sums[i][v], values[v], weight);
        }
      }
      weights += rows;
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v)
      *reinterpret_cast<UnalignedWords*>(t.sums + i * t.sums_stride + v * lanes) = sums[i][v];
  }
}

/// Few rows take many vectors: sums would wait for each other's latency.
constexpr int widest(int rows) { return rows == 1 ? widest_byte_tile : rows <= 3 && lanes == 16 ? 4 : 2; }

template <bool bytes, int rows, int vectors>
AXRUN_INLINE void run_tiles(int64_t count, ByteTile& t) {
  constexpr int64_t fewest = vectors == 8 ? 6 : vectors / 2;
  for (; count > fewest * lanes; count -= vectors * lanes) {
    byte_tile<bytes, rows, vectors>(t);
    t.strip += vectors * lanes;
    t.sums += vectors * lanes;
  }
  if constexpr (vectors > 1) run_tiles<bytes, rows, vectors / 2>(count, t);
}

template <bool bytes, int rows = byte_tile_rows>
AXRUN_INLINE void choose_rows(int64_t wanted, int64_t count, ByteTile& t) {
  if constexpr (rows > 0) {
    if (wanted == rows) return run_tiles<bytes, rows, widest(rows)>(count, t);
    choose_rows<bytes, rows - 1>(wanted, count, t);
  }
}

}  // namespace

void run_byte_tiles(int64_t rows, int64_t count, ByteTile tile) {
  if (has_bytes()) return choose_rows<true>(rows, count, tile);
  choose_rows<false>(rows, count, tile);
}

}  // namespace axrun::runtime::AXRUN_ISA
