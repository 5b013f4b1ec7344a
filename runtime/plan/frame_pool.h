#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace axrun::runtime {

class Frame;
class Plan;

/// Frames that wait for a run. Plans that have values in the same places share them, whatever their sizes:
/// there are as many arenas as there were runs at once, and a size that is new finds one with its pages. Safe
/// from many threads.
class FramePool {
 public:
  FramePool();
  ~FramePool();
  /// One that was of the plan last, or any, which is now; made where none waits.
  std::unique_ptr<Frame> take(const Plan& plan);
  void give(std::unique_ptr<Frame> frame);
  /// That were of the plan last.
  size_t count(uint64_t plan_id) const;
  /// Frees all of these but so many.
  void keep(uint64_t plan_id, size_t count);
  size_t bytes() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Frame>> frames_;  ///< what was given last at the end
};

}  // namespace axrun::runtime
