#include "runtime/plan/step_shelf.h"

#include <algorithm>

namespace axrun::runtime {

std::shared_ptr<const StepShelf::Made> StepShelf::find(size_t group, const Key& key,
                                                       std::vector<std::shared_ptr<const Kernel>>& kernels) {
  kernels.clear();
  const std::lock_guard lock(mutex_);
  Group& own = groups_[group];
  ++own.misses;
  for (const Kept& one : own.kept) {
    if (!(one.key == key)) continue;
    for (const auto& kernel : one.made->kernels) {
      kernels.push_back(kernel.lock());
      if (kernels.back() == nullptr) return nullptr;
    }
    own.misses = 0;
    return one.made;
  }
  return nullptr;
}

bool StepShelf::wants(size_t group) {
  const std::lock_guard lock(mutex_);
  const uint32_t misses = groups_[group].misses;
  return misses <= most_misses || misses % every == 0;
}

void StepShelf::keep(size_t group, Key key, std::shared_ptr<const Made> made) {
  const std::lock_guard lock(mutex_);
  Group& own = groups_[group];
  // What a source knew before will not be asked for again; nor will what has no kernels.
  std::erase_if(own.kept, [&](const Kept& one) {
    return one.key.version != key.version || one.key.sizes == key.sizes;
  });
  if (own.kept.size() < most_kept) {
    own.kept.push_back({std::move(key), std::move(made)});
  } else {
    own.kept[own.next++ % most_kept] = {std::move(key), std::move(made)};
  }
}

}  // namespace axrun::runtime
