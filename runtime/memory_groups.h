#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace axrun::runtime {

/// What the memory control groups of this process allow, and how much of it is left (cgroup versions 1 and 2,
/// every group around it included).
class MemoryGroups {
 public:
  /// The paths are for tests.
  explicit MemoryGroups(const std::string& process_groups = "/proc/self/cgroup",
                        const std::string& mount = "/sys/fs/cgroup");

  struct Room {
    int64_t limit = 0;  ///< of the group that has least left, bytes
    int64_t left = 0;   ///< there: what is not used, or can be dropped at once (contents of files)
  };
  /// Empty where nothing is limited.
  std::optional<Room> room() const;

 private:
  struct Group {
    std::string limit, used, details;  ///< files
    std::string droppable;             ///< the line of `details` that counts what can be dropped
  };
  std::vector<Group> groups_;
};

}  // namespace axrun::runtime
