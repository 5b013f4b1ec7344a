#include "runtime/optimizer/throttling.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace axrun::tests {
namespace {

namespace fs = std::filesystem;

class Groups : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }
  void write(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  runtime::Throttling throttling() const {
    return runtime::Throttling((root_ / "groups").string(), (root_ / "mount").string());
  }
  const fs::path root_ = fs::temp_directory_path() / ("axrun_throttling_" + std::to_string(getpid()));
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
