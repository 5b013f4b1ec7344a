#pragma once

#include <memory>
#include <mutex>
#include <vector>

namespace axrun::runtime {

class Frame;

/// Frames of plans that are gone, for other plans that have values in the same places: their arenas are
/// there, with their pages. Few, and none that are large. Safe from many threads.
class SpareFrames {
 public:
  static constexpr size_t most = 2, most_bytes = size_t{64} << 20;

  SpareFrames();
  ~SpareFrames();
  /// Null: there is none.
  std::unique_ptr<Frame> take();
  void give(std::unique_ptr<Frame> frame);
  size_t bytes() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Frame>> frames_;
};

}  // namespace axrun::runtime
