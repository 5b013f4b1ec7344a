#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

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

/// Packed weights shared by every plan of a session that wants the same ones.
class PackCache {
 public:
  /// The buffer under `key`, made by `fill` when no plan holds one. The key must say everything the bytes
  /// depend on: the source tensors' addresses, the form, its parameters.
  std::shared_ptr<const AlignedBuffer> get(const std::string& key, size_t bytes,
                                           const std::function<void(void*)>& fill);

  /// Of the buffers that plans hold.
  size_t bytes() const;

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::weak_ptr<const AlignedBuffer>> buffers_;
};

}  // namespace axrun::runtime
