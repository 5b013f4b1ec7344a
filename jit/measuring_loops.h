#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "jit/target.h"

/// Machine code that keeps one part of a core busy and does nothing else. Emitted with a target's vectors,
/// which must be runnable here. All throw Error(unsupported) where memory may not be made executable.
namespace axrun::jit {

class EmittedLoop;

/// f32 multiply-adds in registers, in sums that do not wait for each other. Without fma: as many products as
/// sums, in chains of their own.
class MultiplyAddLoop {
 public:
  /// Enough chains for three units of a latency of four, or two of six.
  static constexpr int most_chains = 12;
  /// chains: from 1 to most_chains; without fma an even number.
  MultiplyAddLoop(const Target& target, int chains);

  /// rounds must be a multiple of 4.
  void run(int64_t rounds) const;
  /// Of one round: a multiply-add counts two.
  double flops() const { return flops_; }

 private:
  double flops_;
  std::shared_ptr<const EmittedLoop> loop_;
};

/// From begin to end, or four quarters side by side: caches give more to the first, memory to the second.
enum class ReadOrder { one_stream, four_streams };

/// Loads of every vector of a buffer.
class ReadLoop {
 public:
  static constexpr size_t unit = 2048;
  ReadLoop(const Target& target, ReadOrder order);

  /// Every byte `passes` times. bytes must be a multiple of unit; data is best aligned to lines.
  void run(const void* data, size_t bytes, int64_t passes) const;

 private:
  std::shared_ptr<const EmittedLoop> loop_;
};

/// Evicts a buffer from all caches: what is read next comes from memory.
class FlushLoop {
 public:
  FlushLoop();

  /// bytes must be a multiple of ReadLoop::unit.
  void run(const void* data, size_t bytes) const;

 private:
  std::shared_ptr<const EmittedLoop> loop_;
};

}  // namespace axrun::jit
