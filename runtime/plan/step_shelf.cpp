#include "runtime/plan/step_shelf.h"

#include <algorithm>

namespace axrun::runtime {

std::shared_ptr<const StepShelf::Lot> StepShelf::find(size_t board, const Key& key) {
  const std::lock_guard lock(mutex_);
  Board& own = boards_[board];
  ++own.misses;
  for (const Kept& one : own.kept) {
    if (!(one.key == key)) continue;
    own.misses = 0;
    return one.lot;
  }
  return nullptr;
}

bool StepShelf::wants(size_t board) {
  const std::lock_guard lock(mutex_);
  const uint32_t misses = boards_[board].misses;
  return misses <= most_misses || misses % every == 0;
}

void StepShelf::keep(size_t board, Key key, Lot lot) {
  const std::lock_guard lock(mutex_);
  Board& own = boards_[board];
  // What a source knew before will not be asked for again; nor will what has no kernels.
  std::erase_if(own.kept, [&](const Kept& one) {
    return one.key.version != key.version || one.key.sizes == key.sizes;
  });
  Kept kept{std::move(key), std::make_shared<const Lot>(std::move(lot))};
  if (own.kept.size() < most_kept) {
    own.kept.push_back(std::move(kept));
  } else {
    own.kept[own.next++ % most_kept] = std::move(kept);
  }
}

}  // namespace axrun::runtime
