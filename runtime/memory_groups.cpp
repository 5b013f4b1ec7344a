#include "runtime/memory_groups.h"

#include <algorithm>
#include <fstream>
#include <sstream>

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

bool names(const std::string& controllers, const std::string& wanted) {
  std::istringstream list(controllers);
  for (std::string one; std::getline(list, one, ',');) {
    if (one == wanted) return true;
  }
  return false;
}

}  // namespace

MemoryGroups::MemoryGroups(const std::string& process_groups, const std::string& mount) {
  std::ifstream groups(process_groups);
  // Lines are "number:controllers:path"; no controllers: version 2.
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool second_version = controllers.empty();
    if (!second_version && !names(controllers, "memory")) continue;
    const std::string root = second_version ? mount : mount + "/memory";
    // A container may see the path of its host, below which nothing is mounted: what is there decides.
    for (std::string path = line.substr(second + 1);; path.resize(path.rfind('/'))) {
      if (path == "/") path.clear();
      const std::string folder = root + path;
      const Group group = second_version
                              ? Group{folder + "/memory.max", folder + "/memory.current",
                                      folder + "/memory.stat", "inactive_file"}
                              : Group{folder + "/memory.limit_in_bytes", folder + "/memory.usage_in_bytes",
                                      folder + "/memory.stat", "total_inactive_file"};
      if (number_in(group.used) >= 0) groups_.push_back(group);
      if (path.rfind('/') == std::string::npos) break;
    }
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
