#include "runtime/optimizer/throttling.h"

#include <gtest/gtest.h>

#include "tests/runtime/control_group_files.h"

namespace axrun::tests {
namespace {

class Groups : public ControlGroupFiles {
 protected:
  runtime::Throttling throttling() const { return runtime::Throttling(groups(), mount()); }
};

TEST_F(Groups, NoneIsNoThrottling) {
  runtime::Throttling counts = throttling();
  EXPECT_FALSE(counts.known());
  EXPECT_FALSE(counts.rose());
}

TEST_F(Groups, VersionTwoCountsOuterGroupsToo) {
  write("groups", "0::/outer/inner\n");
  write("mount/outer/inner/cpu.stat", "usage_usec 5\nnr_periods 1\nnr_throttled 0\nthrottled_usec 0\n");
  write("mount/outer/cpu.stat", "usage_usec 5\nnr_throttled 7\n");
  runtime::Throttling counts = throttling();
  EXPECT_TRUE(counts.known());
  EXPECT_FALSE(counts.rose());
  write("mount/outer/cpu.stat", "usage_usec 5\nnr_throttled 8\n");
  EXPECT_TRUE(counts.rose());
  EXPECT_FALSE(counts.rose());
}

TEST_F(Groups, VersionOne) {
  write("groups", "4:memory:/m\n2:cpu,cpuacct:/work\n1:cpuset:/\n");
  write("mount/cpu,cpuacct/work/cpu.stat", "nr_periods 3\nnr_throttled 2\nthrottled_time 9\n");
  runtime::Throttling counts = throttling();
  EXPECT_TRUE(counts.known());
  write("mount/cpu,cpuacct/work/cpu.stat", "nr_periods 3\nnr_throttled 3\nthrottled_time 9\n");
  EXPECT_TRUE(counts.rose());
}

}  // namespace
}  // namespace axrun::tests
