#include "jit/processors.h"

#include <sched.h>

#include <algorithm>
#include <map>
#include <utility>

#include "jit/topology.h"

namespace axrun::jit {
namespace {

int index_above(hwloc_obj_t object, hwloc_obj_type_t type) {
  while (object != nullptr && object->type != type) object = object->parent;
  return object == nullptr ? -1 : static_cast<int>(object->os_index);
}

int node_of(hwloc_obj_t object) {
  if (object->nodeset == nullptr) return -1;
  return hwloc_bitmap_first(object->nodeset);
}

}  // namespace

std::vector<Processor> processors_to_use() {
  std::vector<Processor> processors;
  std::vector<int> turn;                       // how many of its core came before it
  std::map<std::pair<int, int>, int> of_core;  // system numbers of cores may repeat in another package
  if (const Topology topology = load_topology()) {
    const Bitmap allowed = allowed_processors(topology.get());
    hwloc_obj_t unit = nullptr;
    while ((unit = hwloc_get_next_obj_by_type(topology.get(), HWLOC_OBJ_PU, unit)) != nullptr) {
      if (hwloc_bitmap_isset(allowed.get(), unit->os_index) == 0) continue;
      Processor processor{.id = static_cast<int>(unit->os_index),
                          .core = index_above(unit, HWLOC_OBJ_CORE),
                          .package = index_above(unit, HWLOC_OBJ_PACKAGE),
                          .node = node_of(unit)};
      turn.push_back(processor.core < 0 ? 0 : of_core[{processor.package, processor.core}]++);
      processors.push_back(processor);
    }
  }
  if (processors.empty()) return {Processor{.id = std::max(0, sched_getcpu())}};
  std::vector<size_t> order(processors.size());
  for (size_t k = 0; k < order.size(); ++k) order[k] = k;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return turn[a] < turn[b]; });
  std::vector<Processor> ordered;
  for (const size_t k : order) ordered.push_back(processors[k]);
  return ordered;
}

bool bind_this_thread(int processor) {
  if (processor < 0 || processor >= CPU_SETSIZE) return false;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  return sched_setaffinity(0, sizeof set, &set) == 0;
}

}  // namespace axrun::jit
