#include "runtime/plan/packed.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

#include "ir/error.h"
#include "jit/huge_pages.h"

namespace axrun::runtime {
namespace {
constexpr std::align_val_t packed_alignment{64};
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
    data_ = ::operator new(bytes, packed_alignment, std::nothrow);
  }
  if (data_ == nullptr)
    throw Error(Fault::user, fmt::format("out of memory: {} bytes cannot be allocated", bytes));
}

AlignedBuffer::~AlignedBuffer() {
  if (!pages_) ::operator delete(data_, packed_alignment);
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

PackedWeights PackCache::get(const jit::PreparedKey& key, size_t bytes,
                             const std::function<void(void*)>& fill) {
  if (PackedWeights packed = prepared_.find(key, bytes)) return packed;
  const auto made = std::make_shared<AlignedBuffer>(std::max<size_t>(bytes, 1));  // an address, always
  fill(made->data());
  // Two plans may pack at once; one result is kept.
  return prepared_.keep(key, {made, static_cast<char*>(made->data())}, bytes);
}

}  // namespace axrun::runtime
