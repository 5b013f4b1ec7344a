#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>

#include "ir/error.h"

namespace axrun::runtime {

/// Memory of kernels that are made together, and gone together: a binding makes nearly as many as a plan has
/// steps. While one of these lives, what its thread makes by make_in_block lies side by side.
class KernelBlock {
 public:
  KernelBlock() : outer_(std::exchange(current_, this)) {}
  ~KernelBlock();
  KernelBlock(const KernelBlock&) = delete;
  KernelBlock& operator=(const KernelBlock&) = delete;

  /// Memory that is freed when nobody uses anything in it any more.
  class Chunk {
   public:
    static constexpr size_t bytes = size_t{24} << 10;  ///< with this at its beginning
    void* take(size_t wanted);                         ///< null where there is no room
    void release();

   private:
    std::atomic<size_t> users_{1};
    size_t used_ = 0;
  };
  /// The chunk is null, and so is the memory, where no block lives, or no chunk is so large.
  static std::pair<void*, Chunk*> take(size_t bytes);

 private:
  inline static thread_local constinit KernelBlock* current_ = nullptr;
  KernelBlock* outer_;
  Chunk* chunk_ = nullptr;
};

/// Hands out memory that is there already, once.
template <class T>
struct BlockAllocator {
  using value_type = T;
  void* memory;
  size_t bytes;
  KernelBlock::Chunk* chunk;

  BlockAllocator(void* at, size_t room, KernelBlock::Chunk* in) : memory(at), bytes(room), chunk(in) {}
  template <class U>
  BlockAllocator(const BlockAllocator<U>& other)  // NOLINT: as allocators convert
      : memory(other.memory), bytes(other.bytes), chunk(other.chunk) {}
  T* allocate(size_t count) {
    static_assert(alignof(T) <= alignof(std::max_align_t));
    AXRUN_ASSERT(count * sizeof(T) <= bytes);
    return static_cast<T*>(memory);
  }
  void deallocate(T*, size_t) { chunk->release(); }
  template <class U>
  bool operator==(const BlockAllocator<U>& other) const {
    return memory == other.memory;
  }
};

/// As std::make_shared, in the block of the thread where there is one.
template <class T, class... Arguments>
std::shared_ptr<T> make_in_block(Arguments&&... arguments) {
  constexpr size_t room = sizeof(T) + 64;  // with what a shared_ptr puts before the object
  const auto [memory, chunk] = KernelBlock::take(room);
  if (chunk == nullptr) return std::make_shared<T>(std::forward<Arguments>(arguments)...);
  return std::allocate_shared<T>(BlockAllocator<T>(memory, room, chunk),
                                 std::forward<Arguments>(arguments)...);
}

}  // namespace axrun::runtime
