// Products of a few rows with fields where they lie, a vector of words at a time: a chunk. Each word has some
// fields that follow one another, so that a shift of all words gives fields that do not. Instead of bringing
// them into order, A is: with f fields in a word, element i * f + j of a chunk is lane i of vector f - 1 - j
// (block_arrange).
#include "runtime/kernels/isa/block_quantized.h"

namespace axrun::runtime::AXRUN_ISA {
namespace {

/// How the words of a chunk find their block's value.
struct PerBlock {
  int64_t block_words;
  int shift;        ///< word >> shift is its block
  IntVector index;  ///< where a chunk has several blocks: that of each word
  Mask several;     ///< those blocks
};

AXRUN_INLINE PerBlock per_block_of(const BlockSizes& s) {
  PerBlock p;
  p.block_words = s.block_words;
  p.shift = __builtin_ctzll(static_cast<uint64_t>(s.block_words));
  for (int i = 0; i < lanes; ++i) p.index[i] = i >> p.shift;
  p.several = first_lanes(s.block_words < lanes ? lanes >> p.shift : 1);
  return p;
}

/// One value per block, given to the block's words.
AXRUN_INLINE Vector spread(const PerBlock& p, const float* values, int64_t chunk) {
  const float* own = values + ((chunk * lanes) >> p.shift);
  return p.block_words >= lanes ? broadcast(*own) : permute(load(own, p.several), p.index);
}

/// Rows of W: columns of the result.
template <int columns>
struct Columns {
  const uint8_t* fields[columns];
  const float* scales[columns];
  const float* zeros[columns];
};

/// Adds the products of whole chunks to the lanes of `result`. Zero points that are not `given` are 2^(bits -
/// 1): less that, a field is itself with its highest bit inverted, as a signed number.
template <int bits, bool given, int rows, int columns>
__attribute__((noinline)) void add_chunks(const PerBlock& per_block, const Columns<columns>& w,
                                          const float* a, int64_t row_floats, int64_t chunks,
                                          Vector (&result)[rows][columns]) {
  constexpr uint32_t highest = bits == 2 ? 0xaaaaaaaa : bits == 4 ? 0x88888888 : 0x80808080;
  Vector total[rows][columns];
  for (int r = 0; r < rows; ++r)
    for (int j = 0; j < columns; ++j) total[r][j] = result[r][j];
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    UnsignedVector words[columns];
    Vector zero[columns] = {};
    Vector sum[rows][columns] = {};
#pragma GCC unroll 4
    for (int j = 0; j < columns; ++j) {
      words[j] = *reinterpret_cast<const WordVector*>(w.fields[j] + chunk * vector_bytes);
      if constexpr (given) {
        zero[j] = spread(per_block, w.zeros[j], chunk);
      } else {
        words[j] ^= highest;
      }
    }
    // From the highest field down.
    for (int f = 0; f < 32 / bits; ++f, a += lanes) {
      Vector value[columns];
#pragma GCC unroll 4
      for (int j = 0; j < columns; ++j) {
        if constexpr (given) {
          value[j] = to_float(reinterpret_cast<IntVector>(words[j] >> (32 - bits))) - zero[j];
        } else {
          value[j] = to_float(reinterpret_cast<IntVector>(words[j]) >> (32 - bits));
        }
        words[j] <<= bits;
      }
#pragma GCC unroll 4
      for (int r = 0; r < rows; ++r) {
        const Vector of_a = load(a + r * row_floats);
#pragma GCC unroll 4
        for (int j = 0; j < columns; ++j) sum[r][j] = fused(of_a, value[j], sum[r][j]);
      }
    }
#pragma GCC unroll 4
    for (int j = 0; j < columns; ++j) {
      const Vector scale = spread(per_block, w.scales[j], chunk);
#pragma GCC unroll 4
      for (int r = 0; r < rows; ++r) total[r][j] = fused(sum[r][j], scale, total[r][j]);
    }
  }
  for (int r = 0; r < rows; ++r)
    for (int j = 0; j < columns; ++j) result[r][j] = total[r][j];
}

/// `rows` rows by `columns` columns. Zero points are in zeros[column], one per block.
template <int bits, bool given, int rows, int columns>
void dot_products(const BlockQuantizedGemm& g, const BlockSizes& s, const float* arranged,
                  const float* const* zeros, int64_t row, int64_t first, int64_t count) {
  constexpr int64_t chunk_floats = 32 / bits * lanes;
  const int64_t whole = s.words / lanes, row_floats = divide_up(s.words, lanes) * chunk_floats;
  const float* a = arranged + row * row_floats;
  const PerBlock per_block = per_block_of(s);
  // Missing columns repeat the first one; their sums are not stored.
  Columns<columns> w;
  for (int j = 0; j < columns; ++j) {
    const int64_t column = first + (j < count ? j : 0);
    w.fields[j] = g.w.fields + column * s.words * 4;
    w.scales[j] = g.w.scales + column * s.blocks;
    w.zeros[j] = zeros[j < count ? j : 0];
  }
  Vector total[rows][columns] = {};
  add_chunks<bits, given>(per_block, w, a, row_floats, whole, total);
  if (whole * lanes < s.words) {
    // The last words, and their blocks' values, with zeros behind them.
    uint8_t fields[columns][vector_bytes] = {};
    float scales[columns][lanes] = {}, own_zeros[columns][lanes] = {};
    const int64_t done = (whole * lanes) >> per_block.shift;
    for (int j = 0; j < columns; ++j) {
      __builtin_memcpy(fields[j], w.fields[j] + whole * vector_bytes,
                       static_cast<size_t>(s.words - whole * lanes) * 4);
      for (int64_t i = done; i < s.blocks; ++i) {
        scales[j][i - done] = w.scales[j][i];
        if constexpr (given) own_zeros[j][i - done] = w.zeros[j][i];
      }
      w.fields[j] = fields[j];
      w.scales[j] = scales[j];
      w.zeros[j] = own_zeros[j];
    }
    add_chunks<bits, given>(per_block, w, a + whole * chunk_floats, row_floats, 1, total);
  }
  for (int r = 0; r < rows; ++r) {
    float* c = g.c + (row + r) * g.w.n + first;
    for (int j = 0; j < count; ++j) {
      const float sum = sum_lanes(total[r][j]);
      c[j] = g.bias == nullptr ? sum : sum + g.bias[first + j];
    }
  }
}

/// Fields [0, count) of some bytes.
template <int bits>
AXRUN_INLINE void unpack_zeros(const uint8_t* packed, int64_t count, float* zeros) {
  constexpr int per_byte = 8 / bits;
  for (int64_t i = 0; i < count; i += per_byte, ++packed) {
    for (int f = 0; f < per_byte; ++f) {
      if (i + f < count) zeros[i + f] = static_cast<float>((*packed >> (bits * f)) & ((1 << bits) - 1));
    }
  }
}

template <int bits, bool given>
void products(const BlockQuantizedGemm& g, const float* arranged, int64_t first, int64_t last,
              float* unpacked) {
  const BlockSizes s = block_sizes(g.w);
  for (int64_t n = first; n < last; n += block_columns) {
    const int64_t count = smaller(block_columns, last - n);
    const float* zeros[block_columns] = {};
    for (int64_t j = 0; given && j < count; ++j) {
      if (g.w.packed_zeros == nullptr) {
        zeros[j] = g.w.zeros + (n + j) * s.blocks;
      } else {
        unpack_zeros<bits>(g.w.packed_zeros + (n + j) * s.zeros_bytes, s.blocks, unpacked + j * s.blocks);
        zeros[j] = unpacked + j * s.blocks;
      }
    }
    const auto pairs = [&](auto run, int64_t row) {
      run(g, s, arranged, zeros, row, n, smaller<int64_t>(2, count));
      if (count > 2) run(g, s, arranged, zeros + 2, row, n + 2, count - 2);
    };
    int64_t row = 0;
    for (; row + 4 <= g.m; row += 4) pairs(dot_products<bits, given, 4, 2>, row);
    for (; row + 2 <= g.m; row += 2) pairs(dot_products<bits, given, 2, 2>, row);
    if (row < g.m) dot_products<bits, given, 1, 4>(g, s, arranged, zeros, row, n, count);
  }
}

}  // namespace

int64_t block_arranged_floats(const BlockQuantizedMatrix& w) {
  return divide_up(block_sizes(w).words, lanes) * lanes * (32 / w.bits);
}

int64_t block_zeros_floats(const BlockQuantizedMatrix& w) { return block_columns * block_sizes(w).blocks; }

void block_arrange(const BlockQuantizedGemm& g, float* arranged) {
  const int64_t word_fields = 32 / g.w.bits, chunk = lanes * word_fields;
  const int64_t row_floats = block_arranged_floats(g.w);
  for (int64_t row = 0; row < g.m; ++row) {
    const float* a = g.a + row * g.w.k;
    for (int64_t first = 0; first < row_floats; first += chunk) {
      for (int64_t f = word_fields; f-- > 0;) {
        for (int64_t i = 0; i < lanes; ++i) {
          const int64_t k = first + i * word_fields + f;
          *arranged++ = k < g.w.k ? a[k] : 0.0f;
        }
      }
    }
  }
}

void block_products(const BlockQuantizedGemm& g, const float* arranged, int64_t first, int64_t last,
                    float* zeros) {
  const bool given = g.w.zeros != nullptr || g.w.packed_zeros != nullptr;
  switch (g.w.bits) {
    case 2:
      return (given ? products<2, true> : products<2, false>)(g, arranged, first, last, zeros);
    case 4:
      return (given ? products<4, true> : products<4, false>)(g, arranged, first, last, zeros);
    default:
      return (given ? products<8, true> : products<8, false>)(g, arranged, first, last, zeros);
  }
}

}  // namespace axrun::runtime::AXRUN_ISA
