#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

namespace axrun::runtime {

/// Epoch-based reclamation: readers pin what is published at one moment; what a writer has replaced is freed
/// when no reader that could have seen it is left.
///
/// A reader calls pin() *before* it loads the published pointer and keeps the Pin while it uses what it
/// found. A writer first stores the new pointer, then retires the old one. Readers never wait for writers.
class EpochDomain {
 public:
  class Pin {
   public:
    Pin(Pin&& other) noexcept : slot_(other.slot_) { other.slot_ = nullptr; }
    Pin(const Pin&) = delete;
    Pin& operator=(const Pin&) = delete;
    ~Pin() {
      if (slot_ != nullptr) slot_->store(0, std::memory_order_release);
    }

   private:
    friend class EpochDomain;
    explicit Pin(std::atomic<uint64_t>* slot) : slot_(slot) {}
    std::atomic<uint64_t>* slot_;
  };

  EpochDomain() = default;
  ~EpochDomain();
  EpochDomain(const EpochDomain&) = delete;
  EpochDomain& operator=(const EpochDomain&) = delete;

  Pin pin();
  /// `free` runs once no present reader is left: here, or in a later retire or collect.
  void retire(std::function<void()> free);
  /// Frees what can be freed now; returns how many objects still wait.
  size_t collect();

 private:
  /// More readers than slots wait for one, spinning: more runs at once than any machine has processors.
  static constexpr size_t slot_count = 256;
  struct alignas(64) Slot {
    std::atomic<uint64_t> epoch{0};  ///< 0: free
  };
  struct Retired {
    uint64_t epoch;
    std::function<void()> free;
  };
  std::array<Slot, slot_count> slots_;
  std::atomic<uint64_t> epoch_{1};
  std::mutex mutex_;
  std::vector<Retired> retired_;
};

}  // namespace axrun::runtime
