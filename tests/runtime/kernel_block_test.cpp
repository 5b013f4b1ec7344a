// Kernels side by side in memory that goes with the last of them.
#include "runtime/plan/kernel_block.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <thread>
#include <vector>

namespace axrun::tests {
namespace {

using runtime::KernelBlock;
using runtime::make_in_block;

struct Counted {
  explicit Counted(int& alive, int number) : alive_(&alive), number_(number) { ++*alive_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --*alive_; }
  int* alive_;
  int number_;
  std::array<char, 400> more_{};
};

TEST(KernelBlock, HoldsManyAndGoesWithTheLastOne) {
  int alive = 0;
  std::vector<std::shared_ptr<Counted>> kept;
  {
    const KernelBlock block;
    for (int k = 0; k < 300; ++k) kept.push_back(make_in_block<Counted>(alive, k));
  }
  EXPECT_EQ(alive, 300);
  int neighbours = 0;
  for (size_t k = 0; k < kept.size(); ++k) {
    EXPECT_EQ(kept[k]->number_, static_cast<int>(k));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(kept[k].get()) % alignof(Counted), 0u);
    if (k == 0) continue;
    const auto* const before = reinterpret_cast<const char*>(kept[k - 1].get());
    const auto* const own = reinterpret_cast<const char*>(kept[k].get());
    neighbours += own - before > 0 && own - before < 600 ? 1 : 0;
  }
  EXPECT_GT(neighbours, 280);
  // Whichever goes first.
  for (size_t k = 0; k < kept.size(); k += 3) kept[k].reset();
  EXPECT_EQ(alive, 200);
  std::reverse(kept.begin(), kept.end());
  kept.resize(1);
  EXPECT_EQ(alive, 1);
  EXPECT_EQ(kept[0]->number_, 299);
  kept.clear();
  EXPECT_EQ(alive, 0);
}

TEST(KernelBlock, IsTheOneOfTheThreadAndOfTheScope) {
  int alive = 0;
  const KernelBlock block;
  const auto one = make_in_block<Counted>(alive, 1);
  std::shared_ptr<Counted> two;
  {
    const KernelBlock inner;
    two = make_in_block<Counted>(alive, 2);
  }
  const auto three = make_in_block<Counted>(alive, 3);
  const auto distance = [](const auto& a, const auto& b) {
    return reinterpret_cast<const char*>(b.get()) - reinterpret_cast<const char*>(a.get());
  };
  EXPECT_TRUE(distance(one, three) > 0 && distance(one, three) < 600);
  std::thread([&] { EXPECT_EQ(KernelBlock::take(8).second, nullptr); }).join();
  EXPECT_EQ(KernelBlock::take(size_t{1} << 20).second, nullptr);
}

}  // namespace
}  // namespace axrun::tests
