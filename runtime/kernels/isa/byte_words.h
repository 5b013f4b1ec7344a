#pragma once

// Words of integer products: what a 32-bit lane multiplies and adds up at once. Two forms, chosen once per
// process:
//   wide   two 16-bit differences from the zero points. A difference is within +-255, so a pair of products
//   is far
//          from overflow.
//   bytes  (AVX-512 VNNI) four bytes, u8 on the left and i8 on the right; the other signedness is reached by
//   moving
//          values and zero point by 128. Zero points are applied afterwards:
//            sum (a - za)(b - zb) = sum ab - zb sum a - za (sum b - k zb).

#include "runtime/kernels/isa/vector.h"
#include "runtime/kernels/quantized.h"

namespace axrun::runtime::AXRUN_ISA {

typedef uint32_t Words __attribute__((vector_size(vector_bytes)));  // unsigned: sums wrap around
typedef uint32_t UnalignedWords __attribute__((vector_size(vector_bytes), aligned(4), may_alias));

AXRUN_INLINE Words load_words(const uint32_t* p) { return *reinterpret_cast<const UnalignedWords*>(p); }
AXRUN_INLINE Words broadcast_word(uint32_t x) {
  return reinterpret_cast<Words>(broadcast(static_cast<int32_t>(x)));
}

#if defined(AXRUN_ISA_avx512)
AXRUN_INLINE bool has_bytes() {
  static const bool result = __builtin_cpu_supports("avx512vnni");
  return result;
}
AXRUN_INLINE Words dot_bytes(Words sum, Words a, Words b) {
  asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
  return sum;
}
AXRUN_INLINE Words dot_wide(Words sum, Words a, Words b) {
  return sum + reinterpret_cast<Words>(
                   _mm512_madd_epi16(reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
}
#else
AXRUN_INLINE bool has_bytes() { return false; }
AXRUN_INLINE Words dot_bytes(Words sum, Words, Words) { return sum; }
#if defined(AXRUN_ISA_avx2)
AXRUN_INLINE Words dot_wide(Words sum, Words a, Words b) {
  return sum + reinterpret_cast<Words>(
                   _mm256_madd_epi16(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
}
#else
AXRUN_INLINE Words dot_wide(Words sum, Words a, Words b) {
  return sum +
         reinterpret_cast<Words>(_mm_madd_epi16(reinterpret_cast<__m128i>(a), reinterpret_cast<__m128i>(b)));
}
#endif
#endif

/// Factors in a word.
AXRUN_INLINE int64_t word_terms() { return has_bytes() ? 4 : 2; }

AXRUN_INLINE int32_t byte_at(Byte type, const void* p, int64_t i) {
  return type == Byte::u8 ? static_cast<const uint8_t*>(p)[i] : static_cast<const int8_t*>(p)[i];
}

/// Factor number `term` of a word of the right side; `moved` is the value less what its type is moved by.
AXRUN_INLINE uint32_t right_factor(int32_t moved, int32_t moved_zero_point, int64_t term) {
  if (has_bytes()) return (static_cast<uint32_t>(moved) & 0xff) << (8 * term);
  return (static_cast<uint32_t>(moved - moved_zero_point) & 0xffff) << (16 * term);
}

}  // namespace axrun::runtime::AXRUN_ISA
