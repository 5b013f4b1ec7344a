#include "runtime/plan/spare_frames.h"

#include <utility>

#include "runtime/plan/frame.h"

namespace axrun::runtime {

SpareFrames::SpareFrames() = default;
SpareFrames::~SpareFrames() = default;

std::unique_ptr<Frame> SpareFrames::take() {
  const std::lock_guard lock(mutex_);
  if (frames_.empty()) return nullptr;
  std::unique_ptr<Frame> frame = std::move(frames_.back());
  frames_.pop_back();
  return frame;
}

size_t SpareFrames::bytes() const {
  const std::lock_guard lock(mutex_);
  size_t bytes = 0;
  for (const std::unique_ptr<Frame>& frame : frames_) bytes += frame->arena.size();
  return bytes;
}

void SpareFrames::give(std::unique_ptr<Frame> frame) {
  if (frame->arena.size() > most_bytes) return;
  const std::lock_guard lock(mutex_);
  if (frames_.size() < most) frames_.push_back(std::move(frame));
}

}  // namespace axrun::runtime
