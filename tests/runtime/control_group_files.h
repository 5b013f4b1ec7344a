#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace axrun::tests {

/// What the system says of control groups, as files of the test's own: `groups()` in place of
/// /proc/self/cgroup, `mount()` in place of /sys/fs/cgroup.
class ControlGroupFiles : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  /// `path`: "groups", or "mount/.."; its folders are made.
  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  std::string groups() const { return (root_ / "groups").string(); }
  std::string mount() const { return (root_ / "mount").string(); }

 private:
  const std::filesystem::path root_ = std::filesystem::temp_directory_path() /
                                      ("axrun_control_groups_" + std::to_string(getpid()) + "_" +
                                       testing::UnitTest::GetInstance()->current_test_info()->name());
};

}  // namespace axrun::tests
