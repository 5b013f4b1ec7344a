#include "runtime/kernels/isa/byte_strip.h"

#include "runtime/kernels/isa/byte_rows.h"

namespace axrun::runtime::AXRUN_ISA {
namespace {

constexpr int64_t read_past = 48;  ///< bytes beyond a row's end that may be read
constexpr int64_t most_terms = 4;

/// How rows of the input become rows of words.
struct RowPlan {
  int64_t words;        ///< of a row, before it is split into phases
  int64_t row_bytes;    ///< of padded input that they read
  int64_t first, last;  ///< of these, the input's
  int64_t buffer_bytes;
};

RowPlan plan_rows(const WordForm& form, const Strip& s) {
  const ConvGeometry& g = form.geometry;
  RowPlan plan = {};
  plan.words = (s.width - 1) * g.stride_width + s.column_phases;
  plan.row_bytes = plan.words + (form.of_columns ? (word_terms() - 1) * form.dilation : 0);
  plan.first = smaller(plan.row_bytes, larger<int64_t>(0, g.pad_left));
  plan.last = larger(plan.first, smaller(plan.row_bytes, g.in_width + g.pad_left));
  plan.buffer_bytes = divide_up(plan.row_bytes + read_past, 64) * 64;
  return plan;
}

/// Padded rows of a word's two terms, where they are not read in place; words of a row.
struct RowBuffers {
  uint8_t* rows[2];
  uint32_t* words;
};

RowBuffers buffers_in(const RowPlan& plan, void* scratch) {
  auto* const bytes = static_cast<uint8_t*>(scratch);
  return {{bytes, bytes + plan.buffer_bytes}, reinterpret_cast<uint32_t*>(bytes + 2 * plan.buffer_bytes)};
}

AXRUN_INLINE __m128i load_16(const uint8_t* p) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i_u*>(p));
}
AXRUN_INLINE void store_16(void* p, __m128i v) { _mm_storeu_si128(static_cast<__m128i_u*>(p), v); }

AXRUN_INLINE void copy_exactly(const uint8_t* from, int64_t count, uint8_t* to) {
  if (count >= 16) {
    for (int64_t i = 0; i < count - 16; i += 16) store_16(to + i, load_16(from + i));
    store_16(to + count - 16, load_16(from + count - 16));
  } else if (count >= 8) {
    uint64_t low, high;
    __builtin_memcpy(&low, from, 8);
    __builtin_memcpy(&high, from + count - 8, 8);
    __builtin_memcpy(to, &low, 8);
    __builtin_memcpy(to + count - 8, &high, 8);
  } else {
    for (int64_t i = 0; i < count; ++i) to[i] = from[i];
  }
}

#if defined(AXRUN_ISA_avx512)
/// Words of one byte of each of four sources; up to 15 words more are written.
void join_bytes(const RowSource* from, uint8_t padding, uint8_t flip, int64_t count, uint32_t* to) {
  const __m512i flips = _mm512_set1_epi8(static_cast<char>(flip));
  const __m128i pad = _mm_set1_epi8(static_cast<char>(padding));
  // Lane c holds 16 bytes of source c: first doublewords go to where their words will be, then bytes.
  const __m512i doublewords = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  const __m512i bytes =
      _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
  int64_t first = from[0].first, last = from[0].last;
  for (int c = 1; c < 4; ++c) first = larger(first, from[c].first), last = smaller(last, from[c].last);
  for (int64_t i = 0; i < count; i += words_at_once) {
    __m128i part[4];
    if (i >= first && i + words_at_once <= last) {
#pragma GCC unroll 4
      for (int c = 0; c < 4; ++c) part[c] = load_16(from[c].at + i);
    } else {
#pragma GCC unroll 4
      for (int c = 0; c < 4; ++c) {
        const auto mask = static_cast<__mmask16>(places(from[c], i, words_at_once));
        part[c] = _mm_mask_loadu_epi8(pad, mask, from[c].at + i);
      }
    }
    __m512i v = _mm512_castsi128_si512(part[0]);
    v = _mm512_inserti32x4(v, part[1], 1);
    v = _mm512_inserti32x4(v, part[2], 2);
    v = _mm512_inserti32x4(v, part[3], 3);
    v = _mm512_shuffle_epi8(_mm512_permutexvar_epi32(doublewords, v), bytes);
    _mm512_storeu_si512(to + i, _mm512_xor_si512(v, flips));
  }
}

/// Words of columns that follow one another.
void join_neighbours(const NeighbourWords& words, const RowSource& from, int64_t count, bool past_end,
                     uint32_t* to) {
  for (int64_t i = 0; i < count; i += words_at_once) {
    const __m512i v = words.read(from.at + i * words.stride, words.mask(from, i));
    if (past_end || i + words_at_once <= count) {
      _mm512_storeu_si512(to + i, v);
    } else {
      _mm512_mask_storeu_epi32(to + i, first_lanes(count - i), v);
    }
  }
}
#endif

/// Words of a difference of each of two sources.
template <bool is_signed>
void join_differences(const uint8_t* const (&from)[2], int64_t count, int32_t zero_point, uint32_t* to) {
  const __m128i zeros = _mm_set1_epi16(static_cast<int16_t>(zero_point));
  const auto difference = [&](__m128i twice) __attribute__((always_inline)) {
    const __m128i wide = is_signed ? _mm_srai_epi16(twice, 8) : _mm_srli_epi16(twice, 8);
    return _mm_sub_epi16(wide, zeros);
  };
  for (int64_t i = 0; i < count; i += words_at_once) {
    const __m128i a = load_16(from[0] + i), b = load_16(from[1] + i);
    const __m128i low_a = difference(_mm_unpacklo_epi8(a, a)), high_a = difference(_mm_unpackhi_epi8(a, a));
    const __m128i low_b = difference(_mm_unpacklo_epi8(b, b)), high_b = difference(_mm_unpackhi_epi8(b, b));
    store_16(to + i, _mm_unpacklo_epi16(low_a, low_b));
    store_16(to + i + 4, _mm_unpackhi_epi16(low_a, low_b));
    store_16(to + i + 8, _mm_unpacklo_epi16(high_a, high_b));
    store_16(to + i + 12, _mm_unpackhi_epi16(high_a, high_b));
  }
}

/// A word of padding alone.
uint32_t padding_word(const ByteInput& input) {
  if (!has_bytes()) return 0;
  const uint32_t byte =
      (static_cast<uint32_t>(input.zero_point) & 0xff) ^ (input.type == Byte::u8 ? 0 : 0x80);
  return byte * 0x01010101u;
}

void store_exactly(uint32_t* to, Vector v, int64_t count) {
  auto* const floats = reinterpret_cast<float*>(to);
  if (count >= lanes) return store(floats, v);
  store(floats, v, first_lanes(count));
}

/// Every stride-th word from `phase` on.
void pick(const uint32_t* from, int64_t stride, int64_t phase, int64_t count, uint32_t* to) {
  const auto* const floats = reinterpret_cast<const float*>(from);
  if (stride == 2) {
    for (int64_t i = 0; i < count; i += lanes) {
      const Vector low = load(floats + 2 * i), high = load(floats + 2 * i + lanes);
      store_exactly(to + i, phase == 0 ? every_second<0>(low, high) : every_second<1>(low, high), count - i);
    }
    return;
  }
  for (int64_t i = 0; i < count; ++i) to[i] = from[i * stride + phase];
}

/// How fill_words goes about a row.
struct RowFiller {
  const WordForm& form;
  const Strip& strip;
  const ByteInput& input;
  RowPlan plan;
  RowBuffers buffers;
  int64_t terms, phase_words, read_phases;
  uint8_t flip;
  Vector padding;

  bool is_read(int64_t phase) const {
    const ConvGeometry& g = form.geometry;
    for (int64_t w = 0; w < g.kernel_width; ++w) {
      if (w * g.dilation_width % g.stride_width == phase) return true;
    }
    return false;
  }

  void pad(uint32_t* to) const {
    for (int64_t p = 0; p < strip.column_phases; ++p) {
      if (!is_read(p)) continue;
      for (int64_t j = 0; j < strip.width; j += lanes)
        store_exactly(to + p * phase_words + j, padding, strip.width - j);
    }
  }

  /// The terms of words of the input's row that begins at `offset` in its planes.
  void find(int64_t plane, int64_t offset, RowSource* terms_of) const {
    if (form.of_columns) {
      const RowSource row = {input.x + plane * input.plane + offset, plan.first, plan.last};
      for (int64_t t = 0; t < terms; ++t) terms_of[t] = row.from(t * form.dilation);
      return;
    }
    for (int64_t t = 0; t < terms; ++t) {
      const int64_t channel = plane * terms + t;
      const bool exists = channel < form.channels;
      terms_of[t] = {input.x + (exists ? channel * input.plane + offset : 0), plan.first,
                     exists ? plan.last : plan.first};
    }
  }

  /// Words of all places, without a stride.
  void join(const RowSource* from, int64_t count, uint32_t* to) const {
    const auto zero_point = static_cast<uint8_t>(input.zero_point);
#if defined(AXRUN_ISA_avx512)
    if (has_bytes()) return join_bytes(from, zero_point, flip, count, to);
#endif
    const uint8_t* rows[2];
    for (int64_t t = 0; t < 2; ++t) {
      const RowSource& source = from[t];
      rows[t] = source.at;
      const bool is_whole = source.first <= 0 && source.last >= count;
      if (is_whole && input.end - source.at >= count + read_past) continue;
      rows[t] = buffers.rows[t];
      const int64_t first = smaller(count, larger<int64_t>(0, source.first));
      const int64_t last = smaller(count, larger(first, source.last));
      for (int64_t i = 0; i < first; ++i) buffers.rows[t][i] = zero_point;
      copy_exactly(source.at + first, last - first, buffers.rows[t] + first);
      for (int64_t i = last; i < count; ++i) buffers.rows[t][i] = zero_point;
    }
    if (input.type == Byte::u8) {
      join_differences<false>(rows, count, input.zero_point, to);
    } else {
      join_differences<true>(rows, count, input.zero_point, to);
    }
  }

  void fill(int64_t plane, int64_t offset, uint32_t* to) const {
    const int64_t stride = form.geometry.stride_width;
    RowSource from[most_terms];
    find(plane, offset, from);
#if defined(AXRUN_ISA_avx512)
    if (has_bytes() && form.of_columns && form.dilation == 1 && stride <= widest_neighbours_stride) {
      const NeighbourWords words(stride, static_cast<uint8_t>(input.zero_point), flip);
      for (int64_t p = 0; p < strip.column_phases; ++p) {
        if (is_read(p))
          join_neighbours(words, from[0].from(p), strip.width, read_phases == 1, to + p * phase_words);
      }
      return;
    }
#endif
    if (stride == 1) return join(from, strip.width, to);
    join(from, plan.words, buffers.words);
    for (int64_t p = 0; p < strip.column_phases; ++p) {
      if (is_read(p)) pick(buffers.words, stride, p, strip.width, to + p * phase_words);
    }
  }
};

}  // namespace

int64_t word_rows_bytes(const WordForm& form, const Strip& s) {
  const RowPlan plan = plan_rows(form, s);
  const int64_t words = form.geometry.stride_width == 1 ? 0 : plan.words + 2 * lanes + words_at_once;
  return 2 * plan.buffer_bytes + divide_up(words * 4, 64) * 64;
}

void fill_words(const WordForm& form, const Strip& s, const ByteInput& input, int64_t row0, void* scratch,
                uint32_t* to) {
  const ConvGeometry& g = form.geometry;
  const RowPlan plan = plan_rows(form, s);
  RowFiller filler = {form,
                      s,
                      input,
                      plan,
                      buffers_in(plan, scratch),
                      word_terms(),
                      s.height * s.width,
                      0,
                      static_cast<uint8_t>(input.type == Byte::u8 ? 0 : 0x80),
                      reinterpret_cast<Vector>(broadcast_word(padding_word(input)))};
  for (int64_t p = 0; p < s.column_phases; ++p) filler.read_phases += filler.is_read(p) ? 1 : 0;
  for (int64_t plane = 0; plane < form.planes; ++plane, to += s.channel_floats) {
    for (int64_t row_phase = 0; row_phase < s.row_phases; ++row_phase) {
      int64_t row = row0 * g.stride_height + row_phase - g.pad_top;
      uint32_t* at = to + row_phase * s.column_phases * filler.phase_words;
      for (int64_t i = 0; i < s.height; ++i, row += g.stride_height, at += s.width) {
        if (row < 0 || row >= g.in_height || plan.first == plan.last) {
          filler.pad(at);
        } else {
          filler.fill(plane, row * g.in_width - g.pad_left, at);
        }
      }
    }
  }
}

}  // namespace axrun::runtime::AXRUN_ISA
