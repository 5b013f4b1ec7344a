#include "runtime/plan/frame_pool.h"

#include <algorithm>
#include <utility>

#include "runtime/plan/frame.h"

namespace axrun::runtime {

FramePool::FramePool() = default;
FramePool::~FramePool() = default;

std::unique_ptr<Frame> FramePool::take(const Plan& plan) {
  std::unique_ptr<Frame> frame;
  {
    const std::lock_guard lock(mutex_);
    const auto own = std::find_if(frames_.rbegin(), frames_.rend(),
                                  [&](const auto& one) { return one->plan_id() == plan.id(); });
    if (own != frames_.rend()) std::swap(*own, frames_.back());
    if (!frames_.empty()) {
      frame = std::move(frames_.back());
      frames_.pop_back();
    }
  }
  if (frame == nullptr) return std::make_unique<Frame>(plan);
  if (frame->plan_id() != plan.id()) frame->move_to(plan);
  return frame;
}

void FramePool::give(std::unique_ptr<Frame> frame) {
  const std::lock_guard lock(mutex_);
  frames_.push_back(std::move(frame));
}

size_t FramePool::count(uint64_t plan_id) const {
  const std::lock_guard lock(mutex_);
  return static_cast<size_t>(std::count_if(frames_.begin(), frames_.end(),
                                           [&](const auto& frame) { return frame->plan_id() == plan_id; }));
}

void FramePool::keep(uint64_t plan_id, size_t count) {
  std::vector<std::unique_ptr<Frame>> dropped;  // destroyed after the lock is released
  const std::lock_guard lock(mutex_);
  for (auto frame = frames_.rbegin(); frame != frames_.rend(); ++frame) {
    if ((*frame)->plan_id() != plan_id) continue;
    if (count > 0) {
      --count;
    } else {
      dropped.push_back(std::move(*frame));
    }
  }
  std::erase(frames_, nullptr);
}

size_t FramePool::bytes() const {
  const std::lock_guard lock(mutex_);
  size_t bytes = 0;
  for (const std::unique_ptr<Frame>& frame : frames_) bytes += frame->arena.size();
  return bytes;
}

}  // namespace axrun::runtime
