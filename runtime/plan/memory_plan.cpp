#include "runtime/plan/memory_plan.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>

#include "ir/error.h"

namespace axrun::runtime {
namespace {

constexpr size_t alignment = 64;
constexpr size_t arena_limit = size_t{1} << 40;

size_t rounded(size_t bytes) { return (std::max<size_t>(bytes, 1) + alignment - 1) / alignment * alignment; }

/// Free extents of the arena by offset. Space past `end` is free without limit.
class FreeSpace {
 public:
  size_t take(size_t bytes) {
    auto best = free_.end();
    for (auto it = free_.begin(); it != free_.end(); ++it) {
      if (it->second >= bytes && (best == free_.end() || it->second < best->second)) best = it;
    }
    if (best != free_.end()) {
      const size_t offset = best->first;
      const size_t rest = best->second - bytes;
      free_.erase(best);
      if (rest > 0) free_[offset + bytes] = rest;
      return offset;
    }
    // Grow: a free extent that touches the end is used first.
    size_t offset = end_;
    if (!free_.empty()) {
      const auto last = std::prev(free_.end());
      if (last->first + last->second == end_) {
        offset = last->first;
        free_.erase(last);
      }
    }
    end_ = offset + bytes;
    return offset;
  }

  void give(size_t offset, size_t bytes) {
    auto next = free_.lower_bound(offset);
    if (next != free_.end() && offset + bytes == next->first) {
      bytes += next->second;
      next = free_.erase(next);
    }
    if (next != free_.begin()) {
      const auto previous = std::prev(next);
      if (previous->first + previous->second == offset) {
        previous->second += bytes;
        return;
      }
    }
    free_[offset] = bytes;
  }

  size_t end() const { return end_; }

 private:
  std::map<size_t, size_t> free_;
  size_t end_ = 0;
};

}  // namespace

MemoryPlan plan_memory(const std::vector<BufferLife>& buffers, bool reuse) {
  MemoryPlan plan;
  plan.offsets.resize(buffers.size());
  size_t total = 0;
  for (const BufferLife& buffer : buffers) {
    if (buffer.bytes > arena_limit || total > arena_limit) {
      throw Error(Fault::user, "the model's intermediate tensors need more memory than any machine has");
    }
    total += rounded(buffer.bytes);
  }
  if (!reuse) {
    size_t offset = 0;
    for (size_t i = 0; i < buffers.size(); ++i) {
      plan.offsets[i] = offset;
      offset += rounded(buffers[i].bytes);
    }
    plan.bytes = offset;
    return plan;
  }
  std::vector<size_t> by_first(buffers.size());
  std::iota(by_first.begin(), by_first.end(), size_t{0});
  std::vector<size_t> by_last = by_first;
  // At one step the large buffers choose first.
  std::stable_sort(by_first.begin(), by_first.end(), [&](size_t a, size_t b) {
    if (buffers[a].first != buffers[b].first) return buffers[a].first < buffers[b].first;
    return buffers[a].bytes > buffers[b].bytes;
  });
  std::stable_sort(by_last.begin(), by_last.end(),
                   [&](size_t a, size_t b) { return buffers[a].last < buffers[b].last; });
  FreeSpace space;
  size_t ended = 0;
  for (size_t i : by_first) {
    while (ended < by_last.size() && buffers[by_last[ended]].last < buffers[i].first) {
      const size_t done = by_last[ended++];
      space.give(plan.offsets[done], rounded(buffers[done].bytes));
    }
    plan.offsets[i] = space.take(rounded(buffers[i].bytes));
  }
  plan.bytes = space.end();
  return plan;
}

}  // namespace axrun::runtime
