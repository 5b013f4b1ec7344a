#include "runtime/plan/packed.h"

#include <fmt/format.h>

#include <new>
#include <utility>

#include "ir/error.h"
#include "jit/huge_pages.h"

namespace axrun::runtime {
namespace {
constexpr std::align_val_t alignment{64};
}

AlignedBuffer::AlignedBuffer() = default;

AlignedBuffer::AlignedBuffer(size_t bytes) : size_(bytes) {
  if (bytes == 0) return;
  if (bytes >= large_bytes) {
    try {
      pages_ = std::make_unique<jit::HugePages>(bytes);
      data_ = pages_->data();
    } catch (const std::bad_alloc&) {
    }
  } else {
    data_ = ::operator new(bytes, alignment, std::nothrow);
  }
  if (data_ == nullptr)
    throw Error(Fault::user, fmt::format("out of memory: {} bytes cannot be allocated", bytes));
}

AlignedBuffer::~AlignedBuffer() {
  if (!pages_) ::operator delete(data_, alignment);
}

AlignedBuffer::AlignedBuffer(AlignedBuffer&& other) noexcept
    : pages_(std::move(other.pages_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

AlignedBuffer& AlignedBuffer::operator=(AlignedBuffer&& other) noexcept {
  std::swap(pages_, other.pages_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

std::shared_ptr<const AlignedBuffer> PackCache::get(const std::string& key, size_t bytes,
                                                    const std::function<void(void*)>& fill) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = buffers_.find(key);
    if (found != buffers_.end()) {
      if (auto buffer = found->second.lock()) return buffer;
    }
  }
  auto made = std::make_shared<AlignedBuffer>(bytes);  // two plans may pack at once; one result is kept
  fill(made->data());
  const std::lock_guard lock(mutex_);
  auto& entry = buffers_[key];
  if (auto buffer = entry.lock()) return buffer;
  entry = made;
  return made;
}

size_t PackCache::bytes() const {
  const std::lock_guard lock(mutex_);
  size_t bytes = 0;
  for (const auto& [key, entry] : buffers_) {
    if (const auto buffer = entry.lock()) bytes += buffer->size();
  }
  return bytes;
}

}  // namespace axrun::runtime
