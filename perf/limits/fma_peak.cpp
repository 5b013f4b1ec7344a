#include "perf/limits/fma_peak.h"

#include <cpuid.h>

#include <cstdint>
#include <memory>

#include "jit/detect.h"
#include "jit/measuring_loops.h"

namespace axrun::perf {
namespace {

using runtime::IsaLevel;

using Words128 = std::int16_t __attribute__((vector_size(16)));
using Bytes256 = std::int8_t __attribute__((vector_size(32)));
using Bytes512 = std::int8_t __attribute__((vector_size(64)));

constexpr int rounds = 1000;
/// More than latency times units: 4 x 2 for multiply-adds, 5 x 2 for dot products.
constexpr int chains = 12;

// Every loop is `chains` sums that do not depend on each other, each increased `rounds` times by a product.
// The steps are assembly, so that no compiler moves, merges or removes them: %0 is the sum, %1 free for the
// product, %2 the factor. Sums stay far from denormals and infinities.
#define AXRUN_PEAK_LOOP(name, targets, Vector, initial, step)         \
  __attribute__((noinline, target(targets))) void name() {            \
    const Vector factor = Vector{} + initial;                         \
    Vector sums[chains], product;                                     \
    _Pragma("GCC unroll 12") for (Vector & sum : sums) sum = factor;  \
    for (int round = 0; round < rounds; ++round) {                    \
      _Pragma("GCC unroll 12") for (Vector & sum : sums) {            \
        asm volatile(step : "+v"(sum), "=&v"(product) : "v"(factor)); \
      }                                                               \
    }                                                                 \
  }

AXRUN_PEAK_LOOP(int16_sse2, "sse2", Words128, 1, "movdqa %2, %1\n pmaddwd %2, %1\n paddd %1, %0")
AXRUN_PEAK_LOOP(int8_avx2, "avx2", Bytes256, 1,
                "vpmaddubsw %2, %2, %1\n vpmaddwd %2, %1, %1\n vpaddd %1, %0, %0")
AXRUN_PEAK_LOOP(int8_avx512, "avx512bw", Bytes512, 1,
                "vpmaddubsw %2, %2, %1\n vpmaddwd %2, %1, %1\n vpaddd %1, %0, %0")
AXRUN_PEAK_LOOP(int8_avxvnni, "avx2", Bytes256, 1, "%{vex%} vpdpbusd %2, %2, %0")
AXRUN_PEAK_LOOP(int8_avx512vnni, "avx512bw", Bytes512, 1, "vpdpbusd %2, %2, %0")

#undef AXRUN_PEAK_LOOP

/// Operations of a loop whose step multiplies and adds `products` pairs.
constexpr double of_products(int products) { return 2.0 * products * chains * rounds; }

/// Not every compiler's __builtin_cpu_supports knows this one: leaf 7, subleaf 1, EAX bit 4.
bool has_avx_vnni() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0 && (eax >> 4 & 1) != 0;
}

}  // namespace

PeakLoop f32_peak(IsaLevel level) {
  const jit::Target target = jit::restricted(jit::detect_target(), jit::level_named(isa_level_name(level)));
  const auto loop = std::make_shared<jit::MultiplyAddLoop>(target, jit::MultiplyAddLoop::most_chains);
  return {isa_level_name(level), loop->flops() * rounds, [loop] { loop->run(rounds); }};
}

PeakLoop int8_peak() {
  const IsaLevel best = runtime::best_isa_level();
  if (best == IsaLevel::avx512 && __builtin_cpu_supports("avx512vnni") != 0) {
    return {"avx512vnni", of_products(64), int8_avx512vnni};
  }
  if (best == IsaLevel::avx512) return {"avx512", of_products(64), int8_avx512};
  if (best == IsaLevel::avx2 && has_avx_vnni()) {
    return {"avxvnni", of_products(32), int8_avxvnni};
  }
  if (best == IsaLevel::avx2) return {"avx2", of_products(32), int8_avx2};
  return {"sse2", of_products(8), int16_sse2};
}

}  // namespace axrun::perf
