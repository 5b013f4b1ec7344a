#include "runtime/kernels/isa/byte_strip.h"

namespace axrun::runtime::AXRUN_ISA {
namespace {

constexpr int64_t at_once = 16;    ///< words
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

/// Padded rows of a word's channels, one of padding alone, words of a row.
struct RowBuffers {
  uint8_t* rows[most_terms];
  uint8_t* padding;
  uint32_t* words;
};

RowBuffers buffers_in(const RowPlan& plan, void* scratch) {
  auto* const bytes = static_cast<uint8_t*>(scratch);
  RowBuffers buffers = {};
  for (int64_t i = 0; i < most_terms; ++i) buffers.rows[i] = bytes + i * plan.buffer_bytes;
  buffers.padding = bytes + most_terms * plan.buffer_bytes;
  buffers.words = reinterpret_cast<uint32_t*>(bytes + (most_terms + 1) * plan.buffer_bytes);
  return buffers;
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
/// Words of one byte of each source.
void join_bytes(const uint8_t* const* from, int64_t count, uint8_t flip, uint32_t* to) {
  const __m512i flips = _mm512_set1_epi8(static_cast<char>(flip));
  // Lane c holds 16 bytes of source c: first doublewords go to where their words will be, then bytes.
  const __m512i doublewords = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  const __m512i bytes =
      _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
  for (int64_t i = 0; i < count; i += at_once) {
    __m512i v = _mm512_castsi128_si512(load_16(from[0] + i));
    v = _mm512_inserti32x4(v, load_16(from[1] + i), 1);
    v = _mm512_inserti32x4(v, load_16(from[2] + i), 2);
    v = _mm512_inserti32x4(v, load_16(from[3] + i), 3);
    v = _mm512_shuffle_epi8(_mm512_permutexvar_epi32(doublewords, v), bytes);
    _mm512_storeu_si512(to + i, _mm512_xor_si512(v, flips));
  }
}

/// Words of four bytes that follow one another.
void join_neighbours(const uint8_t* from, int64_t count, uint8_t flip, uint32_t* to) {
  const __m512i flips = _mm512_set1_epi8(static_cast<char>(flip));
  const __m512i doublewords = _mm512_setr_epi32(0, 1, 2, 3, 1, 2, 3, 4, 2, 3, 4, 5, 3, 4, 5, 6);
  const __m512i bytes = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 2, 3, 1, 2, 3, 4, 2, 3, 4, 5, 3, 4, 5, 6));
  for (int64_t i = 0; i < count; i += at_once) {
    __m512i v = _mm512_castsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(from + i)));
    v = _mm512_shuffle_epi8(_mm512_permutexvar_epi32(doublewords, v), bytes);
    _mm512_storeu_si512(to + i, _mm512_xor_si512(v, flips));
  }
}
#endif

/// Words of a difference of each of two sources.
template <bool is_signed>
void join_differences(const uint8_t* const* from, int64_t count, int32_t zero_point, uint32_t* to) {
  const __m128i zeros = _mm_set1_epi16(static_cast<int16_t>(zero_point));
  const auto difference = [&](__m128i twice) __attribute__((always_inline)) {
    const __m128i wide = is_signed ? _mm_srai_epi16(twice, 8) : _mm_srli_epi16(twice, 8);
    return _mm_sub_epi16(wide, zeros);
  };
  for (int64_t i = 0; i < count; i += at_once) {
    const __m128i a = load_16(from[0] + i), b = load_16(from[1] + i);
    const __m128i low_a = difference(_mm_unpacklo_epi8(a, a)), high_a = difference(_mm_unpackhi_epi8(a, a));
    const __m128i low_b = difference(_mm_unpacklo_epi8(b, b)), high_b = difference(_mm_unpackhi_epi8(b, b));
    store_16(to + i, _mm_unpacklo_epi16(low_a, low_b));
    store_16(to + i + 4, _mm_unpackhi_epi16(low_a, low_b));
    store_16(to + i + 8, _mm_unpacklo_epi16(high_a, high_b));
    store_16(to + i + 12, _mm_unpackhi_epi16(high_a, high_b));
  }
}

void join(const WordForm& form, const ByteInput& input, const uint8_t* const* from, int64_t count,
          uint32_t* to) {
#if defined(AXRUN_ISA_avx512)
  if (has_bytes()) {
    const uint8_t flip = input.type == Byte::u8 ? 0 : 0x80;
    if (form.of_columns && form.dilation == 1) return join_neighbours(from[0], count, flip, to);
    return join_bytes(from, count, flip, to);
  }
#else
  static_cast<void>(form);
#endif
  if (input.type == Byte::u8) {
    join_differences<false>(from, count, input.zero_point, to);
  } else {
    join_differences<true>(from, count, input.zero_point, to);
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

bool is_read(const ConvGeometry& g, int64_t phase) {
  for (int64_t w = 0; w < g.kernel_width; ++w) {
    if (w * g.dilation_width % g.stride_width == phase) return true;
  }
  return false;
}

}  // namespace

int64_t word_rows_bytes(const WordForm& form, const Strip& s) {
  const RowPlan plan = plan_rows(form, s);
  const int64_t words = form.geometry.stride_width == 1 ? 0 : plan.words + 2 * lanes + at_once;
  return (most_terms + 1) * plan.buffer_bytes + divide_up(words * 4, 64) * 64;
}

void start_word_rows(const WordForm& form, const Strip& s, const ByteInput& input, void* scratch) {
  const RowPlan plan = plan_rows(form, s);
  const __m128i padding = _mm_set1_epi8(static_cast<char>(input.zero_point));
  auto* const bytes = static_cast<uint8_t*>(scratch);
  for (int64_t i = 0; i < (most_terms + 1) * plan.buffer_bytes; i += 16) store_16(bytes + i, padding);
}

void fill_words(const WordForm& form, const Strip& s, const ByteInput& input, int64_t row0, void* scratch,
                uint32_t* to) {
  const ConvGeometry& g = form.geometry;
  const RowPlan plan = plan_rows(form, s);
  const RowBuffers buffers = buffers_in(plan, scratch);
  const int64_t terms = word_terms(), phase_words = s.height * s.width;
  const bool is_whole = plan.first == 0 && plan.last == plan.row_bytes;
  const Vector padding = reinterpret_cast<Vector>(broadcast_word(padding_word(input)));
  bool reads[64];
  const int64_t phases = smaller<int64_t>(s.column_phases, 64);
  for (int64_t p = 0; p < phases; ++p) reads[p] = is_read(g, p);
  const auto reads_phase = [&](int64_t p) { return p >= 64 || reads[p]; };

  const uint8_t* from[most_terms] = {};
  for (int64_t plane = 0; plane < form.planes; ++plane, to += s.channel_floats) {
    for (int64_t row_phase = 0; row_phase < s.row_phases; ++row_phase) {
      int64_t row = row0 * g.stride_height + row_phase - g.pad_top;
      for (int64_t i = 0; i < s.height; ++i, row += g.stride_height) {
        uint32_t* const at = to + row_phase * s.column_phases * phase_words + i * s.width;
        if (row < 0 || row >= g.in_height || plan.first == plan.last) {
          for (int64_t p = 0; p < s.column_phases; ++p) {
            if (!reads_phase(p)) continue;
            for (int64_t j = 0; j < s.width; j += lanes)
              store_exactly(at + p * phase_words + j, padding, s.width - j);
          }
          continue;
        }
        const int64_t offset = row * g.in_width - g.pad_left;
        for (int64_t t = 0; t < (form.of_columns ? 1 : terms); ++t) {
          const int64_t channel = form.of_columns ? plane : plane * terms + t;
          if (channel >= form.channels) {
            from[t] = buffers.padding;
            continue;
          }
          const uint8_t* const x = input.x + channel * input.plane + offset;
          if (is_whole && input.end - x >= plan.row_bytes + read_past) {
            from[t] = x;
          } else {
            copy_exactly(x + plan.first, plan.last - plan.first, buffers.rows[t] + plan.first);
            from[t] = buffers.rows[t];
          }
        }
        if (form.of_columns) {
          for (int64_t t = 1; t < terms; ++t) from[t] = from[0] + t * form.dilation;
        }
        if (g.stride_width == 1) {
          join(form, input, from, s.width, at);
          continue;
        }
        join(form, input, from, plan.words, buffers.words);
        for (int64_t p = 0; p < s.column_phases; ++p) {
          if (reads_phase(p)) pick(buffers.words, g.stride_width, p, s.width, at + p * phase_words);
        }
      }
    }
  }
}

}  // namespace axrun::runtime::AXRUN_ISA
