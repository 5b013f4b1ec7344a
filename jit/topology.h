#pragma once

#include <hwloc.h>

#include <memory>

namespace axrun::jit {

struct TopologyDeleter {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, TopologyDeleter>;

struct BitmapDeleter {
  void operator()(hwloc_bitmap_s* bitmap) const { hwloc_bitmap_free(bitmap); }
};
using Bitmap = std::unique_ptr<hwloc_bitmap_s, BitmapDeleter>;

/// Null where hwloc knows nothing.
Topology load_topology();

/// The processors that this process may use: of the affinity mask those that the topology has.
Bitmap allowed_processors(hwloc_topology_t topology);

}  // namespace axrun::jit
