#pragma once

#include <cstddef>

namespace axrun::jit {

/// Zeroed memory on huge pages where the system gives them: what is measured in it is no page walk.
class HugePages {
 public:
  /// Throws std::bad_alloc.
  explicit HugePages(std::size_t bytes);
  ~HugePages();
  HugePages(const HugePages&) = delete;
  HugePages& operator=(const HugePages&) = delete;

  void* data() const { return data_; }
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

}  // namespace axrun::jit
