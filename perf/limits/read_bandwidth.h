// Reads of a buffer, as fast as vector loads go.
#pragma once

#include <cstddef>

#include "runtime/kernels/dispatch.h"

namespace axrun::perf {

/// Memory on huge pages where the system gives them; its pages exist once `touch` has run.
class Pages {
 public:
  /// Throws std::bad_alloc.
  explicit Pages(std::size_t bytes);
  ~Pages();
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  const void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  /// Writes every page: before, all of them are one page of zeros. By the thread that will read, so that they
  /// lie near it.
  void touch();

 private:
  void* data_ = nullptr;
  void* mapped_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t mapped_bytes_ = 0;
};

/// Reads every byte `passes` times. `bytes` must be a multiple of read_unit.
using ReadLoop = void (*)(const void* data, std::size_t bytes, int passes);
inline constexpr std::size_t read_unit = 512;

/// From begin to end, or four quarters side by side: caches give more to the first, memory to the second.
enum class ReadOrder { one_stream, four_streams };

/// The level must be one that this processor runs.
ReadLoop read_loop(runtime::IsaLevel level, ReadOrder order);

}  // namespace axrun::perf
