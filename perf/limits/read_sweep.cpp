#include "perf/limits/read_sweep.h"

#include <cstdint>
#include <cstring>

namespace axrun::perf {
namespace {

constexpr size_t line = 64;
constexpr size_t streams = 4;  // one alone leaves a tenth of the memory's bandwidth unused on some processors
constexpr size_t lines_at_a_time = 2;
constexpr size_t step = lines_at_a_time * line;

/// Loads a line. The compiler must make the loads, though nobody uses their values.
template <class Wide>
[[gnu::always_inline]] inline void load_line(const char* data) {
#pragma GCC unroll 4
  for (size_t offset = 0; offset < line; offset += sizeof(Wide)) {
    Wide value;
    std::memcpy(&value, data + offset, sizeof(Wide));
    asm volatile("" : : "v"(value));
  }
}

template <class Wide>
[[gnu::always_inline]] inline void sweep(const char* data, size_t bytes) {
  const size_t part = bytes / (streams * step) * step;
  for (size_t i = 0; i < part; i += step) {
#pragma GCC unroll 8
    for (size_t k = 0; k < streams * lines_at_a_time; ++k) {
      load_line<Wide>(data + k / lines_at_a_time * part + i + k % lines_at_a_time * line);
    }
  }
  for (size_t i = streams * part; i + line <= bytes; i += line) load_line<Wide>(data + i);
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
