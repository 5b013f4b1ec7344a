#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

namespace axrun::runtime {

/// Times of the latest runs of one plan; written by every run, from any thread.
class RunTimes {
 public:
  static constexpr uint64_t kept = 32;

  /// Answers how many runs there have been, this one included.
  uint64_t add(float microseconds) {
    const uint64_t before = count_.fetch_add(1, std::memory_order_relaxed);
    times_[before % kept].store(microseconds, std::memory_order_relaxed);
    return before + 1;
  }
  uint64_t count() const { return count_.load(std::memory_order_relaxed); }
  /// Of the latest runs, in microseconds; empty before there are enough of them.
  std::optional<double> median() const {
    if (count() < kept) return std::nullopt;
    std::array<float, kept> times;
    for (size_t k = 0; k < kept; ++k) times[k] = times_[k].load(std::memory_order_relaxed);
    std::nth_element(times.begin(), times.begin() + kept / 2, times.end());
    return times[kept / 2];
  }

 private:
  std::atomic<uint64_t> count_{0};
  std::array<std::atomic<float>, kept> times_{};
};

}  // namespace axrun::runtime
