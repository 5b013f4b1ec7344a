#include "runtime/plan/memory_plan.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <iterator>
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
      if (it->bytes >= bytes && (best == free_.end() || it->bytes < best->bytes)) best = it;
    }
    if (best != free_.end()) {
      const size_t offset = best->offset;
      best->offset += bytes;
      best->bytes -= bytes;
      if (best->bytes == 0) free_.erase(best);
      return offset;
    }
    // Grow: a free extent that touches the end is used first.
    size_t offset = end_;
    if (!free_.empty() && free_.back().offset + free_.back().bytes == end_) {
      offset = free_.back().offset;
      free_.pop_back();
    }
    end_ = offset + bytes;
    return offset;
  }

  void give(size_t offset, size_t bytes) {
    auto next =
        std::find_if(free_.begin(), free_.end(), [&](const Extent& one) { return one.offset > offset; });
    const bool meets_next = next != free_.end() && offset + bytes == next->offset;
    const bool meets_previous =
        next != free_.begin() && std::prev(next)->offset + std::prev(next)->bytes == offset;
    if (meets_previous) {
      std::prev(next)->bytes += bytes + (meets_next ? next->bytes : 0);
      if (meets_next) free_.erase(next);
    } else if (meets_next) {
      next->offset = offset;
      next->bytes += bytes;
    } else {
      free_.insert(next, {offset, bytes});
    }
  }

  size_t end() const { return end_; }

 private:
  struct Extent {
    size_t offset, bytes;
  };
  std::vector<Extent> free_;  ///< few, in order
  size_t end_ = 0;
};

}  // namespace

MemoryOrder::MemoryOrder(const std::vector<BufferLife>& buffers) : begin(buffers.size()) {
  std::iota(begin.begin(), begin.end(), size_t{0});
  end = begin;
  std::stable_sort(begin.begin(), begin.end(), [&](size_t a, size_t b) {
    if (buffers[a].first != buffers[b].first) return buffers[a].first < buffers[b].first;
    return buffers[a].bytes > buffers[b].bytes;
  });
  std::stable_sort(end.begin(), end.end(),
                   [&](size_t a, size_t b) { return buffers[a].last < buffers[b].last; });
}

MemoryPlan plan_memory(const std::vector<BufferLife>& buffers, const MemoryOrder& order, bool reuse) {
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
    for (size_t i = 0; i < buffers.size(); ++i) {
      plan.offsets[i] = plan.bytes;
      plan.bytes += rounded(buffers[i].bytes);
    }
    return plan;
  }
  FreeSpace space;
  auto ended = order.end.begin();
  for (const size_t i : order.begin) {
    for (; ended != order.end.end() && buffers[*ended].last < buffers[i].first; ++ended)
      space.give(plan.offsets[*ended], rounded(buffers[*ended].bytes));
    plan.offsets[i] = space.take(rounded(buffers[i].bytes));
  }
  plan.bytes = space.end();
  return plan;
}

MemoryPlan LastMemoryPlan::at(std::vector<BufferLife> buffers, const MemoryOrder& order) {
  for (BufferLife& buffer : buffers) {
    const size_t step = std::max(alignment, std::bit_floor(std::max<size_t>(buffer.bytes, 1)) / 16);
    if (buffer.bytes <= arena_limit) buffer.bytes = (buffer.bytes + step - 1) / step * step;
  }
  const auto same = [](const BufferLife& buffer, size_t bytes) { return buffer.bytes == bytes; };
  {
    const std::lock_guard lock(mutex_);
    if (std::equal(buffers.begin(), buffers.end(), bytes_.begin(), bytes_.end(), same)) return plan_;
  }
  MemoryPlan made = plan_memory(buffers, order, true);
  const std::lock_guard lock(mutex_);
  bytes_.clear();
  for (const BufferLife& buffer : buffers) bytes_.push_back(buffer.bytes);
  plan_ = made;
  return made;
}

}  // namespace axrun::runtime
