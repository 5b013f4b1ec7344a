// Integer matrix product: words (byte_words.h) along k, vectors of columns.

#include "runtime/kernels/isa/byte_words.h"
#include "runtime/kernels/isa/gemm_tile.h"
#include "runtime/kernels/isa/quantized.h"
#include "runtime/kernels/quantized.h"

namespace axrun::runtime::AXRUN_ISA {
namespace {

#if defined(AXRUN_ISA_avx512)
constexpr int panel_rows = 12;
#elif defined(AXRUN_ISA_avx2)
constexpr int panel_rows = 5;
#else
constexpr int panel_rows = 4;
#endif

/// The first `count` of them: none where it is not positive.
AXRUN_INLINE void store_words(int32_t* p, Words words, int64_t count) {
  if (count >= lanes) {
    *reinterpret_cast<UnalignedWords*>(p) = words;
  } else if (count > 0) {
    store(reinterpret_cast<float*>(p), reinterpret_cast<Vector>(words), first_lanes(count));
  }
}

int64_t padded_columns(int64_t n) { return divide_up(n, tile_columns) * tile_columns; }
int64_t groups(int64_t k) { return divide_up(k, word_terms()); }

/// Packed B: per column its zero point and (sum of b) - k * zero point (bytes form only, but always present),
/// then panels [group][column] of words.
struct PackedB {
  const uint32_t* zero_points;
  const uint32_t* offsets;
  const uint32_t* words;
};

PackedB unpack(const void* packed, int64_t n) {
  const auto* base = static_cast<const uint32_t*>(packed);
  return {base, base + padded_columns(n), base + 2 * padded_columns(n)};
}

template <class T>
AXRUN_INLINE void widen_row(const T* a, int64_t k, int32_t zero_point, int16_t* to) {
  for (int64_t i = 0; i < k; ++i) to[i] = static_cast<int16_t>(a[i] - zero_point);
  if (k % 2 != 0) to[k] = 0;
}

/// One row of A in the form in use.
void pack_row(Byte type, const uint8_t* a, int64_t k, int32_t zero_point, uint32_t* to) {
  if (!has_bytes()) {
    auto* wide = reinterpret_cast<int16_t*>(to);
    if (type == Byte::u8) {
      widen_row(a, k, zero_point, wide);
    } else {
      widen_row(reinterpret_cast<const int8_t*>(a), k, zero_point, wide);
    }
    return;
  }
  auto* bytes = reinterpret_cast<uint8_t*>(to);
  const uint8_t flip = type == Byte::u8 ? 0 : 0x80;
  for (int64_t i = 0; i < k; ++i) bytes[i] = static_cast<uint8_t>(a[i] ^ flip);
  for (int64_t i = k; i < groups(k) * 4; ++i) bytes[i] = 0;
}

/// Sum of the bytes of a row in bytes form.
uint32_t sum_bytes(const uint8_t* a, int64_t words) {
  Words sums = {};
  int64_t i = 0;
  for (; i + lanes <= words; i += lanes)
    sums =
        dot_bytes(sums, load_words(reinterpret_cast<const uint32_t*>(a + 4 * i)), broadcast_word(0x01010101));
  uint32_t sum = 0;
  for (int v = 0; v < lanes; ++v) sum += sums[v];
  for (int64_t j = 4 * i; j < 4 * words; ++j) sum += a[j];
  return sum;
}

bool any_of(const uint32_t* values, int64_t count) {
  uint32_t all = 0;
  for (int64_t i = 0; i < count; ++i) all |= values[i];
  return all != 0;
}

AXRUN_INLINE uint32_t word_at(const uint8_t* p) {
  uint32_t word;
  __builtin_memcpy(&word, p, 4);
  return word;
}

struct IntegerTile {
  int64_t groups;
  const uint8_t* a;  ///< words of rows in the form in use
  int64_t a_row_bytes;
  const uint32_t* a_sums;
  uint32_t a_zero_point;
  const uint32_t* b;
  const uint32_t* b_zero_points;
  const uint32_t* b_offsets;
  int32_t* c;
  int64_t c_row_stride, columns;
};

template <bool bytes, int rows>
void integer_tile(const IntegerTile& t) {
  // Few sums would wait for each other's latency: then several sets take turns along k.
  constexpr int sets = rows == 1 ? 4 : rows == 2 ? 2 : 1;
  Words set_sums[sets][rows][tile_vectors] = {};
  const uint32_t* b = t.b;
  const auto step = [&](int64_t g, Words(&of)[rows][tile_vectors]) __attribute__((always_inline)) {
    Words values[tile_vectors];
#pragma GCC unroll 2
    for (int v = 0; v < tile_vectors; ++v) values[v] = load_words(b + v * lanes);
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i) {
      const Words a = broadcast_word(word_at(t.a + i * t.a_row_bytes + 4 * g));
#pragma GCC unroll 2
      for (int v = 0; v < tile_vectors; ++v)
        of[i][v] = bytes ? dot_bytes(of[i][v], a, values[v]) : dot_wide(of[i][v], a, values[v]);
    }
    b += tile_columns;
  };
  int64_t g = 0;
  for (; g + sets <= t.groups; g += sets) {
#pragma GCC unroll 4
    for (int set = 0; set < sets; ++set) step(g + set, set_sums[set]);
  }
  for (; sets > 1 && g < t.groups; ++g) step(g, set_sums[0]);
  Words(&sums)[rows][tile_vectors] = set_sums[0];
#pragma GCC unroll 4
  for (int set = 1; set < sets; ++set) {
#pragma GCC unroll 2
    for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 2
      for (int v = 0; v < tile_vectors; ++v) sums[i][v] += set_sums[set][i][v];
    }
  }
  // Every loop over the sums is unrolled, or they would not stay in registers.
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i) {
    int32_t* row = t.c + i * t.c_row_stride;
#pragma GCC unroll 2
    for (int v = 0; v < tile_vectors; ++v) {
      Words sum = sums[i][v];
      if (bytes) {
        sum -= load_words(t.b_zero_points + v * lanes) * broadcast_word(t.a_sums[i]) +
               load_words(t.b_offsets + v * lanes) * broadcast_word(t.a_zero_point);
      }
      store_words(row + v * lanes, sum, t.columns - v * lanes);
    }
  }
}

template <bool bytes, int rows = panel_rows>
AXRUN_INLINE void run_integer_tile(int64_t count, const IntegerTile& t) {
  if constexpr (rows > 0) {
    if (count == rows) return integer_tile<bytes, rows>(t);
    run_integer_tile<bytes, rows - 1>(count, t);
  }
}

}  // namespace

int64_t quantized_packed_bytes(int64_t k, int64_t n) { return (2 + groups(k)) * padded_columns(n) * 4; }

void quantized_pack_b(Byte type, int64_t k, int64_t n, const void* b, int64_t row_stride,
                      int64_t column_stride, const int32_t* zero_points, bool per_column, void* packed) {
  const int64_t columns = padded_columns(n);
  auto* const zero_point_words = static_cast<uint32_t*>(packed);
  uint32_t* const offsets = zero_point_words + columns;
  uint32_t* const words = offsets + columns;
  const int32_t move = has_bytes() && type == Byte::u8 ? 128 : 0;
  const int64_t per_group = word_terms();
  for (int64_t j = 0; j < columns; ++j) {
    const bool exists = j < n;
    const int32_t given = zero_points == nullptr || !exists ? 0 : zero_points[per_column ? j : 0];
    const int32_t zero_point = given - move;
    uint32_t sum = 0;
    for (int64_t g = 0; g < groups(k); ++g) {
      uint32_t word = 0;
      for (int64_t i = 0; i < per_group; ++i) {
        const int64_t at = g * per_group + i;
        if (at >= k || !exists) continue;
        const int32_t value = byte_at(type, b, at * row_stride + j * column_stride) - move;
        sum += static_cast<uint32_t>(value);
        word |= right_factor(value, zero_point, i);
      }
      words[j / tile_columns * tile_columns * groups(k) + g * tile_columns + j % tile_columns] = word;
    }
    zero_point_words[j] = static_cast<uint32_t>(zero_point);
    offsets[j] = sum - static_cast<uint32_t>(k) * static_cast<uint32_t>(zero_point);
  }
}

int64_t quantized_scratch_bytes(const QuantizedGemmCell& cell) {
  return panel_rows * (groups(cell.k) + 1) * 4;
}

void quantized_cell(const QuantizedGemmCell& cell) {
  auto* const rows_scratch = static_cast<uint32_t*>(cell.scratch);
  uint32_t* const sums = rows_scratch + panel_rows * groups(cell.k);
  const PackedB b = unpack(cell.packed_b, cell.n);
  IntegerTile tile = {};
  tile.groups = groups(cell.k);
  tile.a_sums = sums;
  tile.a_zero_point = static_cast<uint32_t>(cell.a_zero_point + (cell.a_type == Byte::u8 ? 0 : 128));
  tile.c_row_stride = cell.c_row_stride;
  // Rows that are words already are read where they lie; sums of rows count where B has zero points.
  const bool is_packed = has_bytes() && cell.a_type == Byte::u8 && cell.k % 4 == 0;
  const bool needs_sums = has_bytes() && any_of(b.zero_points + cell.n0, cell.n1 - cell.n0);
  tile.a_row_bytes = is_packed ? cell.a_row_stride : tile.groups * 4;
  for (int64_t i = 0; i < panel_rows; ++i) sums[i] = 0;
  for (int64_t m = cell.m0; m < cell.m1; m += panel_rows) {
    const int64_t rows = smaller<int64_t>(panel_rows, cell.m1 - m);
    const uint8_t* const a = cell.a + m * cell.a_row_stride;
    for (int64_t i = 0; !is_packed && i < rows; ++i)
      pack_row(cell.a_type, a + i * cell.a_row_stride, cell.k, cell.a_zero_point,
               rows_scratch + i * tile.groups);
    tile.a = is_packed ? a : reinterpret_cast<const uint8_t*>(rows_scratch);
    for (int64_t i = 0; needs_sums && i < rows; ++i)
      sums[i] = sum_bytes(tile.a + i * tile.a_row_bytes, tile.groups);
    for (int64_t n = cell.n0; n < cell.n1; n += tile_columns) {
      tile.columns = smaller<int64_t>(tile_columns, cell.n1 - n);
      tile.b = b.words + n * tile.groups;
      tile.b_zero_points = b.zero_points + n;
      tile.b_offsets = b.offsets + n;
      tile.c = cell.c + m * cell.c_row_stride + n;
      if (has_bytes()) {
        run_integer_tile<true>(rows, tile);
      } else {
        run_integer_tile<false>(rows, tile);
      }
    }
  }
}

}  // namespace axrun::runtime::AXRUN_ISA
