#include "jit/huge_pages.h"

#include <sys/mman.h>

#include <cstdint>
#include <new>

namespace axrun::jit {
namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;
constexpr std::size_t small_page = 4096;

}  // namespace

HugePages::HugePages(std::size_t bytes) : bytes_(bytes), mapped_bytes_(bytes + huge_page) {
  mapped_ = mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped_ == MAP_FAILED) throw std::bad_alloc();
  const auto address = reinterpret_cast<std::uintptr_t>(mapped_);
  data_ = reinterpret_cast<void*>((address + huge_page - 1) / huge_page * huge_page);
  madvise(data_, bytes, MADV_HUGEPAGE);  // refused where the kernel has none: small pages then
}

HugePages::~HugePages() { munmap(mapped_, mapped_bytes_); }

void HugePages::touch() {
  for (std::size_t at = 0; at < bytes_; at += small_page) static_cast<volatile char*>(data_)[at] = 1;
}

}  // namespace axrun::jit
