#include "jit/topology.h"

namespace axrun::jit {

Topology load_topology() {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) return nullptr;
  Topology owned(topology);
  return hwloc_topology_load(topology) == 0 ? std::move(owned) : nullptr;
}

Bitmap allowed_processors(hwloc_topology_t topology) {
  Bitmap allowed(hwloc_bitmap_alloc());
  const bool known = hwloc_get_cpubind(topology, allowed.get(), HWLOC_CPUBIND_PROCESS) == 0;
  if (known) hwloc_bitmap_and(allowed.get(), allowed.get(), hwloc_topology_get_topology_cpuset(topology));
  if (!known || hwloc_bitmap_iszero(allowed.get()))
    hwloc_bitmap_copy(allowed.get(), hwloc_topology_get_topology_cpuset(topology));
  return allowed;
}

}  // namespace axrun::jit
