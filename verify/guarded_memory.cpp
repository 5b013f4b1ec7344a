#include "verify/guarded_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "ir/error.h"
#include "verify/checks.h"

namespace axrun::verify {
namespace {

/// NaN as f32, f16 and bf16 whatever the offset: reading it does not go unnoticed.
constexpr unsigned char pattern = 0xFF;
/// Pages far from the array are not looked at: writes that stray miss the guards by less.
constexpr size_t watched_bytes = 4096;

}  // namespace

const char* name_of(Placement placement) {
  constexpr const char* names[] = {"ending at a guard page", "beginning after a guard page",
                                   "one element after a guard page"};
  return names[static_cast<size_t>(placement)];
}

GuardedArray::GuardedArray(size_t bytes, size_t element_bytes)
    : page_bytes_(static_cast<size_t>(sysconf(_SC_PAGESIZE))), bytes_(bytes), element_bytes_(element_bytes) {
  AXRUN_ASSERT(element_bytes > 0 && page_bytes_ % element_bytes == 0 && bytes % element_bytes == 0);
  inner_bytes_ = (bytes + element_bytes + page_bytes_ - 1) / page_bytes_ * page_bytes_;
  void* mapping =
      mmap(nullptr, inner_bytes_ + 2 * page_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED)
    throw Error(Fault::user, "no memory for an array of " + std::to_string(bytes) + " bytes");
  mapping_ = static_cast<unsigned char*>(mapping);
  place(Placement::ends_at_guard);
}

GuardedArray::~GuardedArray() {
  if (mapping_ != nullptr) munmap(mapping_, inner_bytes_ + 2 * page_bytes_);
}

GuardedArray::GuardedArray(GuardedArray&& other) noexcept
    : page_bytes_(other.page_bytes_),
      inner_bytes_(other.inner_bytes_),
      bytes_(other.bytes_),
      element_bytes_(other.element_bytes_),
      mapping_(std::exchange(other.mapping_, nullptr)),
      data_(other.data_) {}

unsigned char* GuardedArray::pages() const { return mapping_ + page_bytes_; }

void GuardedArray::place(Placement placement) {
  if (mprotect(pages(), inner_bytes_, PROT_READ | PROT_WRITE) != 0)
    throw Error(Fault::user, "the protection of memory cannot be changed");
  unsigned char* end = pages() + inner_bytes_;
  data_ = end - bytes_;
  if (placement == Placement::begins_at_guard) data_ = pages();
  if (placement == Placement::off_by_one_element) data_ = pages() + element_bytes_;
  if (bytes_ == 0) data_ = placement == Placement::begins_at_guard ? pages() - element_bytes_ : end;
  if (bytes_ == 0) return;
  std::memset(pages(), pattern, static_cast<size_t>(data_ - pages()));
  std::memset(data_ + bytes_, pattern, static_cast<size_t>(end - data_) - bytes_);
}

void GuardedArray::forbid_writes() {
  if (checks::on("gate.operands_only_read") && mprotect(pages(), inner_bytes_, PROT_READ) != 0)
    throw Error(Fault::user, "the protection of memory cannot be changed");
}

bool GuardedArray::surroundings_intact() const {
  if (bytes_ == 0) return true;
  auto untouched = [](const unsigned char* begin, const unsigned char* end) {
    return std::all_of(begin, end, [](unsigned char byte) { return byte == pattern; });
  };
  const unsigned char* before = std::max(pages(), data_ - std::min<size_t>(watched_bytes, data_ - pages()));
  const unsigned char* after = data_ + bytes_;
  const unsigned char* end = pages() + inner_bytes_;
  return untouched(before, data_) &&
         untouched(after, after + std::min<size_t>(watched_bytes, static_cast<size_t>(end - after)));
}

}  // namespace axrun::verify
