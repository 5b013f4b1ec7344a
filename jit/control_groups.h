#pragma once

#include <string>
#include <vector>

namespace axrun::jit {

/// A control group of this process, or one around it, as a folder of the system.
struct ControlGroup {
  std::string folder;
  int version = 2;
};

/// Those that `controller` ("cpu", "memory") acts in, cgroup versions 1 and 2, each before the one around it.
/// Not every folder need be there: a container may see the path of its host, below which nothing is mounted.
/// process_groups: "/proc/self/cgroup"; mount: "/sys/fs/cgroup"; others are for tests.
std::vector<ControlGroup> control_groups(const std::string& process_groups, const std::string& mount,
                                         const std::string& controller);

}  // namespace axrun::jit
