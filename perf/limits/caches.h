// The processors that are measured and the memory levels above them, as Linux tells (sysfs).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace axrun::perf {

/// A cache, or the memory behind the last one.
struct MemoryLevel {
  std::string name;        ///< "L1", "L2", "L3", "memory"
  std::int64_t bytes = 0;  ///< of one instance; 0 for memory
  bool is_private = true;  ///< every measured processor has its own
};

struct Topology {
  std::vector<int> processors;      ///< one per core that this process may use
  std::vector<MemoryLevel> levels;  ///< of the first processor; memory last
  bool assumed = false;             ///< the system does not tell: sizes are common ones
};

Topology find_topology();

/// Bytes that can be taken without pushing anything out: MemAvailable, and what the control group leaves.
std::int64_t free_memory_bytes();

}  // namespace axrun::perf
