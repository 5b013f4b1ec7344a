#pragma once

#include <atomic>
#include <cstddef>
#include <utility>

namespace axrun::serve {

/// Bytes of messages that may be held at the same time, whoever sent them. Must outlive its shares.
class BufferLimit {
 public:
  explicit BufferLimit(size_t most) : most_(most) {}

  /// False, with nothing taken, where more would be held than may be.
  bool take(size_t bytes) {
    if (taken_.fetch_add(bytes, std::memory_order_relaxed) + bytes <= most_) return true;
    give_back(bytes);
    return false;
  }
  /// For what is there already and cannot be refused.
  void take_anyway(size_t bytes) { taken_.fetch_add(bytes, std::memory_order_relaxed); }
  void give_back(size_t bytes) { taken_.fetch_sub(bytes, std::memory_order_relaxed); }
  size_t most() const { return most_; }
  size_t taken() const { return taken_.load(std::memory_order_relaxed); }

 private:
  const size_t most_;
  std::atomic<size_t> taken_{0};
};

/// A share of a BufferLimit, given back at its end. Without a limit it counts nothing.
class HeldBytes {
 public:
  HeldBytes() = default;
  explicit HeldBytes(BufferLimit& limit) : limit_(&limit) {}
  HeldBytes(HeldBytes&& other) noexcept
      : limit_(std::exchange(other.limit_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  HeldBytes& operator=(HeldBytes&& other) noexcept {
    std::swap(limit_, other.limit_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~HeldBytes() {
    if (limit_ != nullptr) limit_->give_back(bytes_);
  }

  /// False where the limit is reached.
  bool grow(size_t bytes) {
    if (limit_ == nullptr) return true;
    if (!limit_->take(bytes)) return false;
    bytes_ += bytes;
    return true;
  }
  void grow_anyway(size_t bytes) {
    if (limit_ == nullptr) return;
    limit_->take_anyway(bytes);
    bytes_ += bytes;
  }
  BufferLimit* limit() const { return limit_; }

 private:
  BufferLimit* limit_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace axrun::serve
