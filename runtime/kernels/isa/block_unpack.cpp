// Lanes are columns: a vector of words, one per column, gives 32 / bits rows of a panel.
#include "runtime/kernels/isa/block_quantized.h"
#include "runtime/kernels/isa/gemm_tile.h"

namespace axrun::runtime::AXRUN_ISA {
namespace {

/// What is turned at once, so that it stays in the first cache level: words, and the values of their blocks,
/// which have a word at least.
constexpr int64_t most_words = 32;
static_assert(block_panel_alignment % (most_words * 16) == 0,
              "two bits: parts begin with a block or lie in one");

typedef uint32_t Four __attribute__((vector_size(16)));
typedef uint32_t UnalignedFour __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint32_t Word __attribute__((aligned(1), may_alias));

/// to[i][j] = column j's word i, for i < words. Columns from `count` on repeat the last one.
void turn(const void* first, int64_t stride, int64_t count, int64_t words, void* to) {
  auto* out = static_cast<Word*>(to);
  for (int64_t j = 0; j < tile_columns; j += 4) {
    const Word* from[4];
    for (int64_t c = 0; c < 4; ++c)
      from[c] = static_cast<const Word*>(first) + smaller(j + c, count - 1) * stride;
    int64_t i = 0;
    for (; i + 4 <= words; i += 4) {
      Four r[4];
      for (int c = 0; c < 4; ++c) r[c] = *reinterpret_cast<const UnalignedFour*>(from[c] + i);
      const Four low01 = __builtin_shuffle(r[0], r[1], Four{0, 4, 1, 5});
      const Four low23 = __builtin_shuffle(r[2], r[3], Four{0, 4, 1, 5});
      const Four high01 = __builtin_shuffle(r[0], r[1], Four{2, 6, 3, 7});
      const Four high23 = __builtin_shuffle(r[2], r[3], Four{2, 6, 3, 7});
      const Four turned[4] = {__builtin_shuffle(low01, low23, Four{0, 1, 4, 5}),
                              __builtin_shuffle(low01, low23, Four{2, 3, 6, 7}),
                              __builtin_shuffle(high01, high23, Four{0, 1, 4, 5}),
                              __builtin_shuffle(high01, high23, Four{2, 3, 6, 7})};
      for (int c = 0; c < 4; ++c)
        *reinterpret_cast<UnalignedFour*>(out + (i + c) * tile_columns + j) = turned[c];
    }
    for (; i < words; ++i) {
      for (int c = 0; c < 4; ++c) out[i * tile_columns + j + c] = from[c][i];
    }
  }
}

/// Rows [k0, k1) of a tile of `count` columns from `column` on, of most_words words at most.
template <int bits>
void unpack_part(const BlockQuantizedMatrix& w, const BlockSizes& s, int64_t column, int64_t count,
                 int64_t k0, int64_t k1, float* packed) {
  constexpr int word_fields = 32 / bits;
  alignas(64) uint32_t words[most_words][tile_columns];
  alignas(64) float scales[most_words][tile_columns], zeros[most_words][tile_columns];
  const int64_t block0 = k0 / w.block, blocks = divide_up(k1, w.block) - block0;
  turn(w.fields + (column * s.words + k0 / word_fields) * 4, s.words, count, divide_up(k1 - k0, word_fields),
       words);
  const int64_t values = column * s.blocks + block0;
  turn(w.scales + values, s.blocks, count, blocks, scales);
  if (w.zeros != nullptr) turn(w.zeros + values, s.blocks, count, blocks, zeros);
  if (w.packed_zeros != nullptr) {
    float own[tile_columns][most_words];
    for (int64_t j = 0; j < count; ++j) {
      const uint8_t* row = w.packed_zeros + (column + j) * s.zeros_bytes;
      for (int64_t block = 0; block < blocks; ++block) {
        const int64_t bit = (block0 + block) * bits;
        own[j][block] = static_cast<float>((row[bit / 8] >> (bit % 8)) & ((1 << bits) - 1));
      }
    }
    turn(own, most_words, count, blocks, zeros);
  }
  const bool given = w.zeros != nullptr || w.packed_zeros != nullptr;
  for (int64_t block = 0; block < blocks; ++block) {
    const int64_t first = larger(k0, (block0 + block) * w.block);
    const int64_t last = smaller(k1, (block0 + block + 1) * w.block);
    for (int64_t at = 0; at < tile_columns; at += lanes) {
      const Vector scale = load(scales[block] + at);
      const Vector zero = given ? load(zeros[block] + at) : broadcast(static_cast<float>(1 << (bits - 1)));
      float* to = packed + (first - k0) * tile_columns + at;
      const auto unpack_word = [&](int64_t k, int64_t fields) __attribute__((always_inline)) {
        UnsignedVector own = *reinterpret_cast<const UnsignedVector*>(words[(k - k0) / word_fields] + at);
        for (int f = 0; f < fields; ++f, own >>= bits, to += tile_columns) {
          const auto field = reinterpret_cast<IntVector>(own & ((1u << bits) - 1));
          store(to, (to_float(field) - zero) * scale);
        }
      };
      int64_t k = first;
      for (; k + word_fields <= last; k += word_fields) unpack_word(k, word_fields);
      if (k < last) unpack_word(k, last - k);
    }
  }
}

template <int bits>
void unpack(const BlockPanel& p, float* packed) {
  constexpr int64_t part = most_words * (32 / bits);
  const BlockSizes s = block_sizes(*p.w);
  for (int64_t n = p.n0; n < p.n1; n += tile_columns) {
    for (int64_t k = p.k0; k < p.k1; k += part) {
      const int64_t end = smaller(p.k1, k + part);
      unpack_part<bits>(*p.w, s, n, smaller<int64_t>(tile_columns, p.n1 - n), k, end, packed);
      packed += (end - k) * tile_columns;
    }
  }
}

}  // namespace

void block_unpack(const BlockPanel& panel, float* packed) {
  const int bits = panel.w->bits;
  const auto run = bits == 2 ? unpack<2> : bits == 4 ? unpack<4> : unpack<8>;
  run(panel, packed);
}

}  // namespace axrun::runtime::AXRUN_ISA
