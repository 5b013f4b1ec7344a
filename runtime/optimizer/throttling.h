#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace axrun::runtime {

/// How often the control groups of this process were held back because their processor time was used up
/// (nr_throttled in cpu.stat of versions 1 and 2, every group around the process included). Background work
/// that makes it rise takes time from whoever the quota is for.
class Throttling {
 public:
  /// The paths are for tests.
  explicit Throttling(const std::string& process_groups = "/proc/self/cgroup",
                      const std::string& mount = "/sys/fs/cgroup");

  /// True when the count has risen since the last call, or since the start.
  bool rose();
  /// Some group of the process counts.
  bool known() const { return !files_.empty(); }

 private:
  int64_t count() const;
  std::vector<std::string> files_;
  int64_t last_ = 0;
};

}  // namespace axrun::runtime
