#include "runtime/plan/kernel_block.h"

#include <cstddef>

namespace axrun::runtime {
namespace {

constexpr std::align_val_t chunk_alignment{64};

}  // namespace

KernelBlock::~KernelBlock() {
  current_ = outer_;
  if (chunk_ != nullptr) chunk_->release();
}

void* KernelBlock::Chunk::take(size_t wanted) {
  constexpr size_t step = alignof(std::max_align_t);
  constexpr size_t head = (sizeof(Chunk) + step - 1) / step * step;
  wanted = (wanted + step - 1) / step * step;
  if (wanted > bytes - head - used_) return nullptr;
  char* const memory = reinterpret_cast<char*>(this) + head + used_;
  used_ += wanted;
  users_.fetch_add(1, std::memory_order_relaxed);
  return memory;
}

void KernelBlock::Chunk::release() {
  if (users_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  this->~Chunk();
  ::operator delete(this, chunk_alignment);
}

std::pair<void*, KernelBlock::Chunk*> KernelBlock::take(size_t wanted) {
  KernelBlock* const block = current_;
  if (block == nullptr) return {nullptr, nullptr};
  void* memory = block->chunk_ != nullptr ? block->chunk_->take(wanted) : nullptr;
  if (memory == nullptr) {
    if (wanted > Chunk::bytes / 4) return {nullptr, nullptr};
    if (block->chunk_ != nullptr) block->chunk_->release();
    block->chunk_ = new (::operator new(Chunk::bytes, chunk_alignment)) Chunk;
    memory = block->chunk_->take(wanted);
  }
  return {memory, block->chunk_};
}

}  // namespace axrun::runtime
