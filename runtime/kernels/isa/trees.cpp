// Decision trees, all questions at once: a lane per row.
#include "runtime/kernels/isa/trees.h"

#include "runtime/kernels/isa/vector.h"

namespace axrun::runtime::AXRUN_ISA {
namespace {

typedef uint32_t Bits __attribute__((vector_size(vector_bytes)));

/// left & kept in the lanes where x <= threshold does not hold, left elsewhere.
AXRUN_INLINE Bits drop(Bits left, Vector x, float threshold, uint32_t kept) {
#if defined(AXRUN_ISA_avx512)
  const __mmask16 no = _mm512_cmp_ps_mask(x, _mm512_set1_ps(threshold), _CMP_NLE_UQ);
  const __m512i all = reinterpret_cast<__m512i>(left);
  return reinterpret_cast<Bits>(
      _mm512_mask_and_epi32(all, no, all, _mm512_set1_epi32(static_cast<int32_t>(kept))));
#else
  const Bits yes = reinterpret_cast<Bits>(x <= broadcast(threshold));
  return left & (yes | reinterpret_cast<Bits>(broadcast(static_cast<int32_t>(kept))));
#endif
}

}  // namespace

void tree_exits(const TreeQuestion* questions, const int32_t* begins, int64_t first, int64_t last,
                const float* columns, int32_t* exits) {
  for (int64_t tree = first; tree < last; ++tree, exits += lanes) {
    Bits left = reinterpret_cast<Bits>(broadcast(int32_t{-1}));
    for (int32_t k = begins[tree]; k < begins[tree + 1]; ++k) {
      const TreeQuestion& question = questions[k];
      left = drop(left, load(columns + int64_t{question.column} * lanes), question.threshold, question.kept);
    }
    // The number of the lowest bit is the exponent of its value.
    const Bits lowest = left & -left;
    const Bits exponent = reinterpret_cast<Bits>(to_float(reinterpret_cast<IntVector>(lowest))) >> 23;
    *reinterpret_cast<UnalignedIntVector*>(exits) = reinterpret_cast<IntVector>((exponent & 255) - 127);
  }
}

}  // namespace axrun::runtime::AXRUN_ISA
