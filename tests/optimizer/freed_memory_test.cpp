// What the optimiser's work leaves behind goes back to the system, but not under the hands of those that
// serve.
#include "runtime/optimizer/freed_memory.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <vector>

namespace axrun::tests {
namespace {

int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  int64_t size = 0, resident = 0;
  file >> size >> resident;
  return resident * 4096;
}

/// So much is freed that the allocator keeps: between blocks that live.
class Freed {
 public:
  Freed() {
    std::vector<void*> blocks;
    for (int64_t k = 0; k < bytes / block; ++k) {
      blocks.push_back(std::malloc(block));
      std::memset(blocks.back(), 1, block);
      living_.push_back(std::malloc(64));
    }
    for (void* one : blocks) std::free(one);
  }
  ~Freed() {
    for (void* one : living_) std::free(one);
  }
  Freed(const Freed&) = delete;
  Freed& operator=(const Freed&) = delete;
  static constexpr int64_t block = 100'000, bytes = 64 << 20;

 private:
  std::vector<void*> living_;
};

TEST(FreedMemory, GoesBackAtOnceWhenTheWorkIsDoneAndNotBefore) {
#if !defined(__GLIBC__) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "another allocator";
#endif
  runtime::memory_was_freed();  // ten seconds begin, if they have not
  runtime::give_freed_memory_back();
  const int64_t before = resident_bytes();
  const Freed freed;
  EXPECT_GT(resident_bytes(), before + Freed::bytes / 2);
  for (int k = 0; k < 100; ++k) runtime::memory_was_freed();
  EXPECT_GT(resident_bytes(), before + Freed::bytes / 2) << "taken from whoever uses it next";
  runtime::give_freed_memory_back();
  EXPECT_LT(resident_bytes(), before + Freed::bytes / 4);
}

TEST(FreedMemory, IsLeftAloneWhereNothingIsOwed) {
#if !defined(__GLIBC__) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "another allocator";
#endif
  runtime::give_freed_memory_back();
  const int64_t before = resident_bytes();
  const Freed freed;
  runtime::give_freed_memory_back();
  EXPECT_GT(resident_bytes(), before + Freed::bytes / 2);
}

}  // namespace
}  // namespace axrun::tests
