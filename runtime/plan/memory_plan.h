#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

namespace axrun::runtime {

/// A buffer that must exist from step `first` to step `last`, both included.
struct BufferLife {
  size_t bytes = 0;
  int first = 0;
  int last = 0;
};

/// In which order buffers begin, and in which they end: the same for all sizes.
struct MemoryOrder {
  std::vector<size_t> begin, end;

  MemoryOrder() = default;
  /// Of those that begin together the larger ones choose first.
  explicit MemoryOrder(const std::vector<BufferLife>& buffers);
};

struct MemoryPlan {
  std::vector<size_t> offsets;  ///< per buffer, multiples of 64
  size_t bytes = 0;             ///< of the whole arena
};

/// Offsets such that buffers alive at one step do not overlap: best fit in order of time, freed space merged.
/// Without `reuse` every buffer has a place of its own. Throws Error(user) when the sum overflows.
MemoryPlan plan_memory(const std::vector<BufferLife>& buffers, const MemoryOrder& order, bool reuse);

/// The plan made last for buffers that begin and end in one order: sizes that grow from run to run mostly
/// find it. Safe from many threads.
class LastMemoryPlan {
 public:
  /// Sizes are rounded up by a sixteenth at most.
  MemoryPlan at(std::vector<BufferLife> buffers, const MemoryOrder& order);

 private:
  std::mutex mutex_;
  std::vector<size_t> bytes_;
  MemoryPlan plan_;
};

}  // namespace axrun::runtime
