#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>

#include "jit/prepared_store.h"

namespace axrun::jit {
class HugePages;
}

namespace axrun::runtime {

/// Owned bytes, 64-byte aligned, not initialised. Large ones lie on huge pages where the system gives them:
/// whoever reads a few elements of many long rows would wait for a page walk in each.
class AlignedBuffer {
 public:
  static constexpr size_t large_bytes = size_t{2} << 20;

  AlignedBuffer();
  explicit AlignedBuffer(size_t bytes);
  ~AlignedBuffer();
  AlignedBuffer(AlignedBuffer&& other) noexcept;
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept;
  AlignedBuffer(const AlignedBuffer&) = delete;
  AlignedBuffer& operator=(const AlignedBuffer&) = delete;

  void* data() { return data_; }
  const void* data() const { return data_; }
  float* floats() { return static_cast<float*>(data_); }
  const float* floats() const { return static_cast<const float*>(data_); }
  size_t size() const { return size_; }

 private:
  std::unique_ptr<jit::HugePages> pages_;  ///< where it is large
  void* data_ = nullptr;
  size_t size_ = 0;
};

/// Constants in the form in which a precompiled kernel reads them, 64-byte aligned; perhaps in memory that is
/// nobody's to write to.
using PackedWeights = std::shared_ptr<const void>;

/// Packed weights shared by every plan of a session that wants the same ones, and, through what an earlier
/// process has kept of them, by the processes of a machine. Safe from many threads.
class PackCache {
 public:
  /// What is there under `key`, made by `fill` when no plan holds it and nobody has kept it. The key must say
  /// everything the bytes depend on but the instruction-set level: the form, its parameters, the constants.
  PackedWeights get(const jit::PreparedKey& key, size_t bytes, const std::function<void(void*)>& fill);

  /// What plans hold.
  jit::PreparedStore& prepared() { return prepared_; }
  size_t bytes() const { return prepared_.bytes(); }
  /// Held for moments only.
  std::mutex& mutex() { return mutex_; }

 private:
  std::mutex mutex_;
  jit::PreparedStore prepared_{mutex_};
};

}  // namespace axrun::runtime
