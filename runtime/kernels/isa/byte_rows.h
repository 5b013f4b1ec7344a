#pragma once

// Words (byte_words.h) of rows of the input with their padding.

#include "runtime/kernels/isa/byte_words.h"

namespace axrun::runtime::AXRUN_ISA {

inline constexpr int64_t words_at_once = 16;

/// What a term of a row's words is read from: at[j] for j in [first, last), padding for others.
struct RowSource {
  const uint8_t* at;
  int64_t first, last;

  RowSource from(int64_t j) const { return {at + j, first - j, last - j}; }
};

#if defined(AXRUN_ISA_avx512)
/// A bit for each of the places i to i + width - 1 that the input has.
AXRUN_INLINE uint64_t places(const RowSource& s, int64_t i, int64_t width) {
  const int64_t begin = smaller(width, larger<int64_t>(0, s.first - i));
  const int64_t end = smaller(width, larger(begin, s.last - i));
  return _bzhi_u64(~uint64_t{0}, static_cast<uint32_t>(end)) &
         ~_bzhi_u64(~uint64_t{0}, static_cast<uint32_t>(begin));
}

inline constexpr int64_t widest_neighbours_stride = 4;

/// Words of four bytes that follow one another, each `stride` bytes after the one before.
struct NeighbourWords {
  int64_t stride;
  __m512i flips, padding;
  // Lane l gets what its four words are made of, from doubleword l * stride on; then words are picked in it.
  __m512i doublewords, bytes;

  NeighbourWords(int64_t words_stride, uint8_t padding_byte, uint8_t flip)
      : stride(words_stride),
        flips(_mm512_set1_epi8(static_cast<char>(flip))),
        padding(_mm512_set1_epi8(static_cast<char>(padding_byte))) {
    const auto step = static_cast<int>(stride);
    const __m512i lane = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
    const __m512i in_lane = _mm512_setr_epi32(0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3);
    doublewords = _mm512_add_epi32(_mm512_mullo_epi32(lane, _mm512_set1_epi32(step)), in_lane);
    bytes = _mm512_add_epi32(_mm512_mullo_epi32(in_lane, _mm512_set1_epi32(step * 0x01010101)),
                             _mm512_set1_epi32(0x03020100));
  }

  /// For `read` of words from number i on.
  __mmask64 mask(const RowSource& from, int64_t i) const {
    return places(from, i * stride, (words_at_once - 1) * stride + 4);
  }
  __attribute__((always_inline)) __m512i read(const uint8_t* from, __mmask64 mask) const {
    const __m512i v = _mm512_mask_loadu_epi8(padding, mask, from);
    return _mm512_xor_si512(_mm512_shuffle_epi8(_mm512_permutexvar_epi32(doublewords, v), bytes), flips);
  }
};
#endif

}  // namespace axrun::runtime::AXRUN_ISA
