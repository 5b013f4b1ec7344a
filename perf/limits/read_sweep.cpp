#include "perf/limits/read_sweep.h"

#include <cstdint>
#include <cstring>

namespace axrun::perf {
namespace {

constexpr size_t line = 64;
constexpr size_t streams = 4;  // one alone leaves a tenth of the memory's bandwidth unused on some processors
constexpr size_t lines_at_a_time = 2;
constexpr size_t step = lines_at_a_time * line;

typedef float Wide512 __attribute__((vector_size(64)));
typedef float Wide256 __attribute__((vector_size(32)));
typedef float Wide128 __attribute__((vector_size(16)));

// The empty assembly statement takes what was loaded: without it nothing would be. `k` counts the vectors of
// a step, stream by stream; the last loop reads what is left over.
#define AXRUN_READ_SWEEP(name, targets, Wide)                                            \
  __attribute__((noinline, target(targets))) void name(const char* data, size_t bytes) { \
    constexpr size_t vectors = step / sizeof(Wide);                                      \
    const size_t part = bytes / (streams * step) * step;                                 \
    Wide value;                                                                          \
    for (size_t i = 0; i < part; i += step) {                                            \
      _Pragma("GCC unroll 32") for (size_t k = 0; k < streams * vectors; ++k) {          \
        const char* at = data + k / vectors * part + i + k % vectors * sizeof(Wide);     \
        std::memcpy(&value, at, sizeof(Wide));                                           \
        asm volatile("" : : "v"(value));                                                 \
      }                                                                                  \
    }                                                                                    \
    for (size_t i = streams * part; i + sizeof(Wide) <= bytes; i += sizeof(Wide)) {      \
      std::memcpy(&value, data + i, sizeof(Wide));                                       \
      asm volatile("" : : "v"(value));                                                   \
    }                                                                                    \
  }

AXRUN_READ_SWEEP(sweep_avx512, "avx512f", Wide512)
AXRUN_READ_SWEEP(sweep_avx2, "avx2", Wide256)
AXRUN_READ_SWEEP(sweep_sse2, "sse2", Wide128)

#undef AXRUN_READ_SWEEP

}  // namespace

void read_sweep(const void* data, size_t bytes) {
  static void (*const widest)(const char*, size_t) = [] {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") ? sweep_avx512
           : __builtin_cpu_supports("avx2")  ? sweep_avx2
                                             : sweep_sse2;
  }();
  widest(static_cast<const char*>(data), bytes);
}

}  // namespace axrun::perf
