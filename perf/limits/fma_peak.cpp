#include "perf/limits/fma_peak.h"

namespace axrun::perf {
namespace {

typedef float Wide512 __attribute__((vector_size(64)));
typedef float Wide256 __attribute__((vector_size(32)));
typedef float Wide128 __attribute__((vector_size(16)));

// Twelve independent sums hide the latency of 4 to 5 cycles of two units, and fit in registers at every
// level.
constexpr int sums_in_flight = 12;
constexpr int steps = 1000;

[[gnu::noinline, gnu::target("avx512f")]] void burst_avx512() {
  const Wide512 factor = {};
  Wide512 sums[sums_in_flight];
  for (int i = 0; i < sums_in_flight; ++i) sums[i] = factor + static_cast<float>(i);
  for (int i = 0; i < steps; ++i) {
#pragma GCC unroll 12
    for (Wide512& sum : sums) sum = __builtin_ia32_vfmaddps512_mask(sum, factor, factor, -1, 4);
  }
#pragma GCC unroll 12
  for (const Wide512& sum : sums) asm volatile("" : : "v"(sum));
}

[[gnu::noinline, gnu::target("avx2,fma")]] void burst_avx2() {
  const Wide256 factor = {};
  Wide256 sums[sums_in_flight];
  for (int i = 0; i < sums_in_flight; ++i) sums[i] = factor + static_cast<float>(i);
  for (int i = 0; i < steps; ++i) {
#pragma GCC unroll 12
    for (Wide256& sum : sums) sum = __builtin_ia32_vfmaddps256(sum, factor, factor);
  }
#pragma GCC unroll 12
  for (const Wide256& sum : sums) asm volatile("" : : "x"(sum));
}

[[gnu::noinline]] void burst_sse2() {
  Wide128 factor = {};
  asm volatile("" : "+x"(factor));
  Wide128 sums[sums_in_flight];
  for (int i = 0; i < sums_in_flight; ++i) sums[i] = factor + static_cast<float>(i);
  for (int i = 0; i < steps; ++i) {
#pragma GCC unroll 12
    for (Wide128& sum : sums) sum = sum * factor + factor;
  }
#pragma GCC unroll 12
  for (const Wide128& sum : sums) asm volatile("" : : "x"(sum));
}

struct Burst {
  const char* instructions;
  void (*run)();
  int lanes;
};

const Burst& widest() {
  static const Burst burst = [] {
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f")) return Burst{"avx512", burst_avx512, 16};
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return Burst{"avx2", burst_avx2, 8};
    return Burst{"sse2", burst_sse2, 4};
  }();
  return burst;
}

}  // namespace

void fma_burst() { widest().run(); }
double fma_burst_operations() { return 2.0 * widest().lanes * sums_in_flight * steps; }
const char* fma_burst_instructions() { return widest().instructions; }

}  // namespace axrun::perf
