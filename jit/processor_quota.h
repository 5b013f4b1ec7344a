#pragma once

#include <string>

namespace axrun::jit {

/// Processors' worth of time that the control groups of this process allow (cgroup versions 1 and 2, every
/// group around it included); infinite where nothing limits it. The paths are for tests.
double processor_quota(const std::string& process_groups = "/proc/self/cgroup",
                       const std::string& mount = "/sys/fs/cgroup");

}  // namespace axrun::jit
