#include "runtime/optimizer/freed_memory.h"

#include <features.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <atomic>
#include <chrono>

namespace axrun::runtime {
namespace {

using Clock = std::chrono::steady_clock;

constexpr Clock::duration between_returns = std::chrono::seconds(10);

/// Of the process: its sessions share the allocator.
std::atomic<bool> owed{false};
std::atomic<Clock::rep> next_return{0};

}  // namespace

void memory_was_freed() {
  owed = true;
  const Clock::rep now = Clock::now().time_since_epoch().count();
  Clock::rep next = next_return;
  if (now < next || !next_return.compare_exchange_strong(next, now + between_returns.count())) return;
  if (next != 0) give_freed_memory_back();  // not the first time: a service has just begun
}

void give_freed_memory_back() {
  if (!owed.exchange(false)) return;
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

}  // namespace axrun::runtime
