#include "jit/detect.h"

#include <cpuid.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <thread>

#include "jit/cpu_features.h"
#include "jit/processor_quota.h"
#include "jit/topology.h"

namespace axrun::jit {
namespace {

/// Cores with a processor in the set; processors where the topology has no cores.
int cores_in(hwloc_topology_t topology, hwloc_const_bitmap_t set) {
  int cores = 0;
  hwloc_obj_t core = nullptr;
  while ((core = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_CORE, core)) != nullptr)
    cores += hwloc_bitmap_intersects(core->cpuset, set);
  return cores > 0 ? cores : std::max(1, hwloc_bitmap_weight(set));
}

/// Data caches above the first allowed processor. Sharing counts the machine's cores, not only ours: others
/// use the cache too.
std::vector<CacheLevel> caches_of(hwloc_topology_t topology, hwloc_const_bitmap_t allowed) {
  std::vector<CacheLevel> caches;
  hwloc_obj_t object =
      hwloc_get_pu_obj_by_os_index(topology, static_cast<unsigned>(hwloc_bitmap_first(allowed)));
  for (; object != nullptr; object = object->parent) {
    if (!hwloc_obj_type_is_dcache(object->type)) continue;
    CacheLevel cache;
    cache.bytes = static_cast<int64_t>(object->attr->cache.size);
    // Unknown sizes are 0. What is no larger than a nearer cache would never be scheduled for.
    if (cache.bytes <= 0 || (!caches.empty() && cache.bytes <= caches.back().bytes)) continue;
    if (object->attr->cache.linesize > 0)
      cache.line_bytes = static_cast<int64_t>(object->attr->cache.linesize);
    cache.shared_by = cores_in(topology, object->cpuset);
    caches.push_back(cache);
  }
  return caches;
}

/// What the smallest of today's processors have.
std::vector<CacheLevel> assumed_caches() {
  return {{.bytes = 32 << 10}, {.bytes = 256 << 10}, {.bytes = 4 << 20, .shared_by = 4}};
}

/// As CPUID spells it, and so does Linux.
std::string processor_name() {
  unsigned words[12] = {};
  for (unsigned leaf = 0; leaf < 3; ++leaf) {
    unsigned* const part = words + 4 * leaf;
    if (__get_cpuid(0x80000002U + leaf, part, part + 1, part + 2, part + 3) == 0) return "x86-64";
  }
  char text[sizeof words + 1] = {};
  std::memcpy(text, words, sizeof words);
  const std::string brand = text;
  const size_t begin = brand.find_first_not_of(' ');
  if (begin == std::string::npos) return "x86-64";
  return brand.substr(begin, brand.find_last_not_of(' ') - begin + 1);
}

}  // namespace

Target detect_target() {
  Target target;
  target.name = processor_name();
  for (const CpuFeature& feature : cpu_features())
    if (host_has(feature.name)) target.features.emplace_back(feature.name);
  derive_vectors(target);
  if (const Topology topology = load_topology()) {
    const Bitmap allowed = allowed_processors(topology.get());
    target.cores = cores_in(topology.get(), allowed.get());
    target.caches = caches_of(topology.get(), allowed.get());
  } else {
    target.cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  }
  if (target.caches.empty()) target.caches = assumed_caches();
  const double quota = processor_quota();
  if (quota < target.cores) target.cores = std::max(1, static_cast<int>(std::ceil(quota)));
  return target;
}

}  // namespace axrun::jit
