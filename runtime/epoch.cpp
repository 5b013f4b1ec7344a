#include "runtime/epoch.h"

#include <algorithm>
#include <functional>
#include <thread>

namespace axrun::runtime {

EpochDomain::~EpochDomain() {
  for (Retired& retired : retired_) retired.free();
}

EpochDomain::Pin EpochDomain::pin() {
  // Threads start looking at different slots, so that they rarely meet.
  thread_local const size_t start = std::hash<std::thread::id>()(std::this_thread::get_id());
  for (size_t i = start;; ++i) {
    std::atomic<uint64_t>& slot = slots_[i % slot_count].epoch;
    uint64_t free = 0;
    // Sequentially consistent, and so are the writer's store, increment and scan: either the writer's scan
    // sees this pin, or this reader's later load sees the writer's new pointer.
    if (slot.load(std::memory_order_relaxed) == 0 && slot.compare_exchange_strong(free, epoch_.load())) {
      return Pin(&slot);
    }
    if ((i - start) % slot_count == slot_count - 1) std::this_thread::yield();
  }
}

void EpochDomain::retire(std::function<void()> free) {
  {
    const std::lock_guard lock(mutex_);
    // Readers pinned at this epoch or before may have seen the object; later ones cannot.
    retired_.push_back({epoch_.fetch_add(1), std::move(free)});
  }
  collect();
}

size_t EpochDomain::collect() {
  std::vector<Retired> ready;
  size_t waiting = 0;
  {
    const std::lock_guard lock(mutex_);
    uint64_t oldest = epoch_.load();
    for (const Slot& slot : slots_) {
      const uint64_t pinned = slot.epoch.load();
      if (pinned != 0) oldest = std::min(oldest, pinned);
    }
    const auto keep = std::partition(retired_.begin(), retired_.end(),
                                     [&](const Retired& retired) { return retired.epoch >= oldest; });
    std::move(keep, retired_.end(), std::back_inserter(ready));
    retired_.erase(keep, retired_.end());
    waiting = retired_.size();
  }
  for (Retired& retired : ready) retired.free();
  return waiting;
}

}  // namespace axrun::runtime
