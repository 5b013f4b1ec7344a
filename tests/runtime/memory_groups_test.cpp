#include "runtime/memory_groups.h"

#include <gtest/gtest.h>

#include "tests/runtime/control_group_files.h"

namespace axrun::tests {
namespace {

class MemoryGroup : public ControlGroupFiles {
 protected:
  auto room() const { return runtime::MemoryGroups(groups(), mount()).room(); }
};

TEST_F(MemoryGroup, NoneIsNoLimit) {
  EXPECT_FALSE(room().has_value());
  write("groups", "0::/a\nno group\n1:cpu:/a\n");
  EXPECT_FALSE(room().has_value());
  write("mount/a/memory.max", "max\n");
  write("mount/a/memory.current", "5\n");
  EXPECT_FALSE(room().has_value());
}

TEST_F(MemoryGroup, TheOneWithLeastLeftCounts) {
  write("groups", "0::/outer/inner\n");
  write("mount/outer/inner/memory.max", "1000\n");
  write("mount/outer/inner/memory.current", "300\n");
  write("mount/outer/memory.max", "4000\n");
  write("mount/outer/memory.current", "3900\n");
  ASSERT_TRUE(room().has_value());
  EXPECT_EQ(room()->limit, 4000);
  EXPECT_EQ(room()->left, 100);
  write("mount/outer/memory.stat", "anon 1900\ninactive_file 2000\nactive_file 7\n");
  EXPECT_EQ(room()->left, 700) << "contents of files can be dropped: the inner group has less left now";
  EXPECT_EQ(room()->limit, 1000);
}

TEST_F(MemoryGroup, AContainerSeesItsOwnGroupAsTheRoot) {
  write("groups", "0::/docker/somewhere/else\n");
  write("mount/memory.max", "1000\n");
  write("mount/memory.current", "1200\n");
  ASSERT_TRUE(room().has_value());
  EXPECT_EQ(room()->left, 0);
}

TEST_F(MemoryGroup, VersionOne) {
  write("groups", "4:memory,hugetlb:/m\n2:cpu,cpuacct:/work\n");
  write("mount/memory/m/memory.limit_in_bytes", "9223372036854771712\n");
  write("mount/memory/m/memory.usage_in_bytes", "100\n");
  EXPECT_FALSE(room().has_value());
  write("mount/memory/m/memory.limit_in_bytes", "150\n");
  write("mount/memory/m/memory.stat", "cache 1\ntotal_inactive_file 20\n");
  ASSERT_TRUE(room().has_value());
  EXPECT_EQ(room()->left, 70);
}

}  // namespace
}  // namespace axrun::tests
