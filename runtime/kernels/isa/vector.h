#pragma once

// The vector type of the instruction-set level being compiled, and the few operations that C++ cannot express
// on it.
//
// This folder's files are compiled once per level with that level's flags. Nothing here may have external
// linkage under a name shared with another level: the linker would keep one copy, and baseline processors
// could run AVX-512 code. So: everything lives in the level's namespace, and no standard header with inline
// functions is included.

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#define AXRUN_INLINE static inline __attribute__((always_inline))

namespace axrun::runtime::AXRUN_ISA {

#if defined(AXRUN_ISA_avx512)
inline constexpr int lanes = 16;
#elif defined(AXRUN_ISA_avx2)
inline constexpr int lanes = 8;
#else
inline constexpr int lanes = 4;
#endif

inline constexpr int vector_bytes = lanes * 4;

typedef float Vector __attribute__((vector_size(vector_bytes)));
typedef int32_t IntVector __attribute__((vector_size(vector_bytes)));
typedef float UnalignedVector __attribute__((vector_size(vector_bytes), aligned(4), may_alias));
typedef int32_t UnalignedIntVector __attribute__((vector_size(vector_bytes), aligned(4), may_alias));

AXRUN_INLINE Vector load(const float* p) { return *reinterpret_cast<const UnalignedVector*>(p); }
AXRUN_INLINE void store(float* p, Vector v) { *reinterpret_cast<UnalignedVector*>(p) = v; }
AXRUN_INLINE IntVector as_int(Vector v) { return reinterpret_cast<IntVector>(v); }
AXRUN_INLINE Vector as_float(IntVector v) { return reinterpret_cast<Vector>(v); }

// `minimum(bound, x)` and `maximum(bound, x)` return x when it is NaN, and x's zero when both are zeros.
// `permute(x, index)` has x's lane index[i] in lane i.
#if defined(AXRUN_ISA_avx512)

AXRUN_INLINE Vector broadcast(float x) { return _mm512_set1_ps(x); }
AXRUN_INLINE IntVector broadcast(int32_t x) { return reinterpret_cast<IntVector>(_mm512_set1_epi32(x)); }
AXRUN_INLINE Vector fused(Vector a, Vector b, Vector c) { return _mm512_fmadd_ps(a, b, c); }
AXRUN_INLINE Vector minimum(Vector bound, Vector x) { return _mm512_min_ps(bound, x); }
AXRUN_INLINE Vector maximum(Vector bound, Vector x) { return _mm512_max_ps(bound, x); }
AXRUN_INLINE Vector square_root(Vector x) { return _mm512_sqrt_ps(x); }
AXRUN_INLINE IntVector round_to_int(Vector x) { return reinterpret_cast<IntVector>(_mm512_cvtps_epi32(x)); }
AXRUN_INLINE Vector round_even(Vector x) { return _mm512_roundscale_ps(x, 8); }
AXRUN_INLINE Vector round_down(Vector x) { return _mm512_roundscale_ps(x, 9); }
AXRUN_INLINE Vector round_up(Vector x) { return _mm512_roundscale_ps(x, 10); }
AXRUN_INLINE Vector to_float(IntVector x) { return _mm512_cvtepi32_ps(reinterpret_cast<__m512i>(x)); }
AXRUN_INLINE Vector permute(Vector x, IntVector index) {
  return _mm512_permutexvar_ps(reinterpret_cast<__m512i>(index), x);
}
AXRUN_INLINE float sum_lanes(Vector x) { return _mm512_reduce_add_ps(x); }
/// Whether any lane of a comparison's result (all ones or zero per lane) is set.
AXRUN_INLINE bool any(IntVector mask) { return _mm512_movepi32_mask(reinterpret_cast<__m512i>(mask)) != 0; }

#elif defined(AXRUN_ISA_avx2)

AXRUN_INLINE Vector broadcast(float x) { return _mm256_set1_ps(x); }
AXRUN_INLINE IntVector broadcast(int32_t x) { return reinterpret_cast<IntVector>(_mm256_set1_epi32(x)); }
AXRUN_INLINE Vector fused(Vector a, Vector b, Vector c) { return _mm256_fmadd_ps(a, b, c); }
AXRUN_INLINE Vector minimum(Vector bound, Vector x) { return _mm256_min_ps(bound, x); }
AXRUN_INLINE Vector maximum(Vector bound, Vector x) { return _mm256_max_ps(bound, x); }
AXRUN_INLINE Vector square_root(Vector x) { return _mm256_sqrt_ps(x); }
AXRUN_INLINE IntVector round_to_int(Vector x) { return reinterpret_cast<IntVector>(_mm256_cvtps_epi32(x)); }
AXRUN_INLINE Vector round_even(Vector x) { return _mm256_round_ps(x, 8); }
AXRUN_INLINE Vector round_down(Vector x) { return _mm256_round_ps(x, 9); }
AXRUN_INLINE Vector round_up(Vector x) { return _mm256_round_ps(x, 10); }
AXRUN_INLINE Vector to_float(IntVector x) { return _mm256_cvtepi32_ps(reinterpret_cast<__m256i>(x)); }
AXRUN_INLINE Vector permute(Vector x, IntVector index) {
  return _mm256_permutevar8x32_ps(x, reinterpret_cast<__m256i>(index));
}
AXRUN_INLINE bool any(IntVector mask) { return _mm256_movemask_ps(reinterpret_cast<__m256>(mask)) != 0; }
AXRUN_INLINE float sum_lanes(Vector x) {
  __m128 half = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  half = _mm_add_ps(half, _mm_movehl_ps(half, half));
  return _mm_cvtss_f32(_mm_add_ss(half, _mm_movehdup_ps(half)));
}

#else

AXRUN_INLINE Vector broadcast(float x) { return _mm_set1_ps(x); }
AXRUN_INLINE IntVector broadcast(int32_t x) { return reinterpret_cast<IntVector>(_mm_set1_epi32(x)); }
AXRUN_INLINE Vector fused(Vector a, Vector b, Vector c) { return a * b + c; }
AXRUN_INLINE Vector minimum(Vector bound, Vector x) { return _mm_min_ps(bound, x); }
AXRUN_INLINE Vector maximum(Vector bound, Vector x) { return _mm_max_ps(bound, x); }
AXRUN_INLINE Vector square_root(Vector x) { return _mm_sqrt_ps(x); }
AXRUN_INLINE IntVector round_to_int(Vector x) { return reinterpret_cast<IntVector>(_mm_cvtps_epi32(x)); }
AXRUN_INLINE Vector to_float(IntVector x) { return _mm_cvtepi32_ps(reinterpret_cast<__m128i>(x)); }
AXRUN_INLINE Vector permute(Vector x, IntVector index) {
  return Vector{x[index[0]], x[index[1]], x[index[2]], x[index[3]]};
}
/// Rounds through integers; numbers of 2^23 and more are whole already. Keeps the sign of zero.
AXRUN_INLINE Vector round_even(Vector x) {
  const IntVector sign = as_int(x) & broadcast(int32_t{-0x7fffffff - 1});
  const Vector magnitude = as_float(as_int(x) & broadcast(int32_t{0x7fffffff}));
  const Vector rounded = as_float(as_int(to_float(round_to_int(magnitude))) | sign);
  return magnitude < broadcast(8388608.0f) ? rounded : x;
}
AXRUN_INLINE Vector round_down(Vector x) {
  const Vector rounded = round_even(x);
  return rounded > x ? rounded - broadcast(1.0f) : rounded;
}
AXRUN_INLINE Vector round_up(Vector x) {
  const IntVector sign = as_int(x) & broadcast(int32_t{-0x7fffffff - 1});
  const Vector rounded = round_even(x);
  return as_float(as_int(rounded < x ? rounded + broadcast(1.0f) : rounded) | sign);
}
AXRUN_INLINE bool any(IntVector mask) { return _mm_movemask_ps(reinterpret_cast<__m128>(mask)) != 0; }
AXRUN_INLINE float sum_lanes(Vector x) {
  const __m128 half = _mm_add_ps(x, _mm_movehl_ps(x, x));
  return _mm_cvtss_f32(_mm_add_ss(half, _mm_shuffle_ps(half, half, 1)));
}

#endif

/// The first `count` lanes, 0 <= count <= lanes. The others are neither read nor written, and load as 0.
#if defined(AXRUN_ISA_avx512)
typedef __mmask16 Mask;
AXRUN_INLINE Mask first_lanes(int64_t count) { return static_cast<Mask>((1u << count) - 1u); }
AXRUN_INLINE Vector load(const float* p, Mask mask) { return _mm512_maskz_loadu_ps(mask, p); }
AXRUN_INLINE void store(float* p, Vector v, Mask mask) { _mm512_mask_storeu_ps(p, mask, v); }
#elif defined(AXRUN_ISA_avx2)
struct Mask {
  __m256i in_use;
  int count;
};
AXRUN_INLINE Mask first_lanes(int64_t count) {
  const __m256i index = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return {_mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), index), static_cast<int>(count)};
}
AXRUN_INLINE Vector load(const float* p, Mask mask) { return _mm256_maskload_ps(p, mask.in_use); }
/// By pieces: a store under a mask takes Zen 3 12.6 cycles.
AXRUN_INLINE void store(float* p, Vector v, Mask mask) {
  if (mask.count == lanes) return store(p, v);
  __m128 rest = _mm256_castps256_ps128(v);
  if ((mask.count & 4) != 0) {
    _mm_storeu_ps(p, rest);
    rest = _mm256_extractf128_ps(v, 1);
    p += 4;
  }
  if ((mask.count & 2) != 0) {
    _mm_storel_pi(reinterpret_cast<__m64*>(p), rest);
    rest = _mm_movehl_ps(rest, rest);
    p += 2;
  }
  if ((mask.count & 1) != 0) _mm_store_ss(p, rest);
}
#else
struct Mask {
  int64_t count;
};
AXRUN_INLINE Mask first_lanes(int64_t count) { return {count}; }
AXRUN_INLINE Vector load(const float* p, Mask mask) {
  if (mask.count == lanes) return load(p);
  Vector v = {};
  for (int64_t i = 0; i < mask.count; ++i) v[i] = p[i];
  return v;
}
AXRUN_INLINE void store(float* p, Vector v, Mask mask) {
  if (mask.count == lanes) {
    store(p, v);
  } else {
    for (int64_t i = 0; i < mask.count; ++i) p[i] = v[i];
  }
}
#endif

/// Lanes [first, last) of p, 0 <= first <= last <= lanes; the others load as 0 and need not be readable.
AXRUN_INLINE Vector load_window(const float* p, int64_t first, int64_t last) {
#if defined(AXRUN_ISA_avx512)
  return _mm512_maskz_loadu_ps(static_cast<Mask>(((1u << last) - 1u) & ~((1u << first) - 1u)), p);
#elif defined(AXRUN_ISA_avx2)
  const __m256i index = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const __m256i below = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(last)), index);
  const __m256i too_low = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(first)), index);
  return _mm256_maskload_ps(p, _mm256_andnot_si256(too_low, below));
#else
  Vector v = {};
  for (int64_t i = first; i < last; ++i) v[i] = p[i];
  return v;
#endif
}

/// Lanes [first, last) of x; the others are those of `otherwise`.
AXRUN_INLINE Vector blend_window(Vector x, int64_t first, int64_t last, Vector otherwise) {
#if defined(AXRUN_ISA_avx512)
  const auto mask = static_cast<__mmask16>(((1u << last) - 1u) & ~((1u << first) - 1u));
  return _mm512_mask_blend_ps(mask, otherwise, x);
#elif defined(AXRUN_ISA_avx2)
  const __m256i index = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const __m256i below = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(last)), index);
  const __m256i too_low = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(first)), index);
  return _mm256_blendv_ps(otherwise, x, _mm256_castsi256_ps(_mm256_andnot_si256(too_low, below)));
#else
  for (int64_t i = first; i < last; ++i) otherwise[i] = x[i];
  return otherwise;
#endif
}

/// Lanes first, first + 2, ... of the two vectors after each other.
template <int first>
AXRUN_INLINE Vector every_second(Vector low, Vector high) {
  constexpr int f = first;
#if defined(AXRUN_ISA_avx512)
  return __builtin_shuffle(low, high,
                           IntVector{f, f + 2, f + 4, f + 6, f + 8, f + 10, f + 12, f + 14, f + 16, f + 18,
                                     f + 20, f + 22, f + 24, f + 26, f + 28, f + 30});
#elif defined(AXRUN_ISA_avx2)
  // Within halves first: one instruction each, where all at once takes two permutations and a blend.
  const Vector halves = _mm256_shuffle_ps(low, high, f == 0 ? 0x88 : 0xdd);
  return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(halves), 0xd8));
#else
  return __builtin_shuffle(low, high, IntVector{f, f + 2, f + 4, f + 6});
#endif
}

template <class T>
AXRUN_INLINE T smaller(T a, T b) {
  return b < a ? b : a;
}
template <class T>
AXRUN_INLINE T larger(T a, T b) {
  return a < b ? b : a;
}

}  // namespace axrun::runtime::AXRUN_ISA
