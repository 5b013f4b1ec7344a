#include "verify/guarded_memory.h"

#include <gtest/gtest.h>

#include <cstring>

namespace axrun::verify {
namespace {

constexpr Placement placements[] = {Placement::ends_at_guard, Placement::begins_at_guard,
                                    Placement::off_by_one_element};

TEST(GuardedMemory, HoldsItsArrayInEveryPlacement) {
  for (size_t bytes : {size_t{4}, size_t{60}, size_t{4092}, size_t{4096}, size_t{4100}, size_t{40000}}) {
    GuardedArray array(bytes, 4);
    for (Placement placement : placements) {
      array.place(placement);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(array.data()) % 4, 0u);
      EXPECT_TRUE(array.surroundings_intact());
      std::memset(array.data(), 1, bytes);
      EXPECT_TRUE(array.surroundings_intact()) << bytes << " bytes " << name_of(placement);
    }
    array.place(Placement::begins_at_guard);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(array.data()) % 64, 0u);
    array.place(Placement::off_by_one_element);
    EXPECT_NE(reinterpret_cast<uintptr_t>(array.data()) % 64, 0u);
  }
}

TEST(GuardedMemory, NoticesWritesAroundTheArray) {
  GuardedArray array(100, 4);
  array.place(Placement::ends_at_guard);
  static_cast<unsigned char*>(array.data())[-1] = 0;
  EXPECT_FALSE(array.surroundings_intact());
  for (Placement placement : {Placement::begins_at_guard, Placement::off_by_one_element}) {
    array.place(placement);
    static_cast<unsigned char*>(array.data())[100] = 0;
    EXPECT_FALSE(array.surroundings_intact());
  }
}

volatile unsigned char sink;

/// AddressSanitizer reports the signal and exits.
bool died_of_the_access(int status) {
#ifdef __SANITIZE_ADDRESS__
  return WIFEXITED(status) && WEXITSTATUS(status) != 0;
#else
  return testing::KilledBySignal(SIGSEGV)(status);
#endif
}

TEST(GuardedMemoryDeathTest, GuardsKill) {
  testing::FLAGS_gtest_death_test_style = "fast";
  GuardedArray array(100, 4);
  auto* data = static_cast<volatile unsigned char*>(array.data());
  EXPECT_EXIT(sink = data[100], died_of_the_access, "");
  array.forbid_writes();
  EXPECT_EXIT(data[0] = 1, died_of_the_access, "");
  EXPECT_EQ(data[0], data[0]);
  array.place(Placement::begins_at_guard);
  auto* first = static_cast<volatile unsigned char*>(array.data());
  EXPECT_EXIT(sink = first[-1], died_of_the_access, "");
}

TEST(GuardedMemoryDeathTest, NothingOfAnEmptyArrayMayBeTouched) {
  testing::FLAGS_gtest_death_test_style = "fast";
  GuardedArray array(0, 4);
  for (Placement placement : placements) {
    array.place(placement);
    auto* data = static_cast<volatile unsigned char*>(array.data());
    EXPECT_EXIT(sink = data[0], died_of_the_access, "");
  }
}

}  // namespace
}  // namespace axrun::verify
