#include "perf/limits/read_bandwidth.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <new>

namespace axrun::perf {
namespace {

using runtime::IsaLevel;

using Wide128 = std::int64_t __attribute__((vector_size(16)));
using Wide256 = std::int64_t __attribute__((vector_size(32)));
using Wide512 = std::int64_t __attribute__((vector_size(64)));

constexpr std::size_t huge_page = std::size_t{2} << 20;
constexpr std::size_t small_page = 4096;

// Eight sums, each or-ed with what is loaded: enough for two loads a cycle, and no more to do than to load.
// They are handed to an empty assembly statement at the end, without which nothing would be read; the other
// one makes every pass read anew.
#define AXRUN_READ_LOOP(name, targets, Vector, streams)                                                   \
  __attribute__((noinline, target(targets))) void name(const void* data, std::size_t bytes, int passes) { \
    constexpr std::size_t count = 8, each = count / streams;                                              \
    static_assert(read_unit % (count * sizeof(Vector)) == 0);                                             \
    const auto* const begin = static_cast<const Vector*>(data);                                           \
    const std::size_t length = bytes / sizeof(Vector) / streams;                                          \
    Vector sums[count] = {};                                                                              \
    for (int pass = 0; pass < passes; ++pass) {                                                           \
      asm volatile("" : : : "memory");                                                                    \
      for (const Vector* at = begin; at != begin + length; at += each) {                                  \
        _Pragma("GCC unroll 8") for (std::size_t k = 0; k < count; ++k) {                                 \
          sums[k] |= at[k / each * length + k % each];                                                    \
        }                                                                                                 \
      }                                                                                                   \
    }                                                                                                     \
    _Pragma("GCC unroll 8") for (Vector & sum : sums) asm volatile("" : : "v"(sum));                      \
  }

AXRUN_READ_LOOP(read_sse2, "sse2", Wide128, 1)
AXRUN_READ_LOOP(read_avx2, "avx2", Wide256, 1)
AXRUN_READ_LOOP(read_avx512, "avx512f", Wide512, 1)
AXRUN_READ_LOOP(read_streams_sse2, "sse2", Wide128, 4)
AXRUN_READ_LOOP(read_streams_avx2, "avx2", Wide256, 4)
AXRUN_READ_LOOP(read_streams_avx512, "avx512f", Wide512, 4)

#undef AXRUN_READ_LOOP

}  // namespace

Pages::Pages(std::size_t bytes) : bytes_(bytes), mapped_bytes_(bytes + huge_page) {
  mapped_ = mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped_ == MAP_FAILED) throw std::bad_alloc();
  const auto address = reinterpret_cast<std::uintptr_t>(mapped_);
  data_ = reinterpret_cast<void*>((address + huge_page - 1) / huge_page * huge_page);
  madvise(data_, bytes, MADV_HUGEPAGE);  // refused where the kernel has none: small pages then
}

Pages::~Pages() { munmap(mapped_, mapped_bytes_); }

void Pages::touch() {
  for (std::size_t at = 0; at < bytes_; at += small_page) static_cast<volatile char*>(data_)[at] = 1;
}

ReadLoop read_loop(IsaLevel level, ReadOrder order) {
  const bool one = order == ReadOrder::one_stream;
  switch (level) {
    case IsaLevel::avx512:
      return one ? read_avx512 : read_streams_avx512;
    case IsaLevel::avx2:
      return one ? read_avx2 : read_streams_avx2;
    case IsaLevel::sse2:
      break;
  }
  return one ? read_sse2 : read_streams_sse2;
}

}  // namespace axrun::perf
