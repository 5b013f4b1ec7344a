#include "perf/limits/read_sweep.h"

#include <cstdint>
#include <cstring>

namespace axrun::perf {
namespace {

constexpr size_t lines_at_a_time = 8;
constexpr size_t line = 64;

// Loads whose values nobody uses, which the compiler must still make: eight lines in flight, no arithmetic.
template <class Wide>
[[gnu::always_inline]] inline void sweep(const char* data, size_t bytes) {
  const char* const end = data + bytes / (lines_at_a_time * line) * (lines_at_a_time * line);
  for (; data != end; data += lines_at_a_time * line) {
#pragma GCC unroll 32
    for (size_t offset = 0; offset < lines_at_a_time * line; offset += sizeof(Wide)) {
      Wide value;
      std::memcpy(&value, data + offset, sizeof(Wide));
      asm volatile("" : : "v"(value));
    }
  }
}

typedef float Wide512 __attribute__((vector_size(64)));
typedef float Wide256 __attribute__((vector_size(32)));
typedef float Wide128 __attribute__((vector_size(16)));

[[gnu::noinline, gnu::target("avx512f")]] void sweep_avx512(const char* data, size_t bytes) {
  sweep<Wide512>(data, bytes);
}
[[gnu::noinline, gnu::target("avx2")]] void sweep_avx2(const char* data, size_t bytes) {
  sweep<Wide256>(data, bytes);
}
[[gnu::noinline]] void sweep_sse2(const char* data, size_t bytes) { sweep<Wide128>(data, bytes); }

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
