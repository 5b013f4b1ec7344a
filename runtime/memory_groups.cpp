#include "runtime/memory_groups.h"

#include <algorithm>
#include <fstream>

#include "jit/control_groups.h"

namespace axrun::runtime {
namespace {

/// More than any machine has: version 1 says "no limit" with a number like it.
constexpr int64_t no_limit = int64_t{1} << 60;

/// The number in a file; -1 where there is none ("max").
int64_t number_in(const std::string& path) {
  std::ifstream file(path);
  int64_t value = 0;
  return file >> value ? value : -1;
}

int64_t line_of(const std::string& path, const std::string& name) {
  std::ifstream file(path);
  std::string found;
  for (int64_t value = 0; file >> found >> value;) {
    if (found == name) return value;
  }
  return 0;
}

}  // namespace

MemoryGroups::MemoryGroups(const std::string& process_groups, const std::string& mount) {
  for (const auto& [folder, version] : jit::control_groups(process_groups, mount, "memory")) {
    const std::string details = folder + "/memory.stat";
    const Group group =
        version == 2 ? Group{folder + "/memory.max", folder + "/memory.current", details, "inactive_file"}
                     : Group{folder + "/memory.limit_in_bytes", folder + "/memory.usage_in_bytes", details,
                             "total_inactive_file"};
    if (number_in(group.used) >= 0) groups_.push_back(group);
  }
}

std::optional<MemoryGroups::Room> MemoryGroups::room() const {
  std::optional<Room> least;
  for (const Group& group : groups_) {
    const int64_t limit = number_in(group.limit);
    if (limit < 0 || limit >= no_limit) continue;
    const int64_t used =
        std::max<int64_t>(0, number_in(group.used) - line_of(group.details, group.droppable));
    const Room room{limit, std::max<int64_t>(0, limit - used)};
    if (!least || room.left < least->left) least = room;
  }
  return least;
}

}  // namespace axrun::runtime
