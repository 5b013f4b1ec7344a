#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/onnxruntime_ep/host.h"
#include "runtime/session.h"

namespace axrun::ort {

/// What a session's steps took, for the trace that ONNX Runtime writes (1.25 and later). Otherwise a part is
/// one event there. Safe from many threads.
class Trace {
 public:
  using Clock = std::chrono::steady_clock;
  /// As many as ONNX Runtime keeps.
  static constexpr std::size_t most_events = 1'000'000;

  /// `offset`: how long ago the runtime's trace began.
  void start(std::chrono::nanoseconds offset);
  bool is_on() const { return on_.load(std::memory_order_relaxed); }
  /// The steps of one run that began at `begin` on the calling thread.
  void add(Clock::time_point begin, const std::vector<runtime::StepProfile>& steps);
  /// Hands over all events and stops. Throws HostError.
  void finish(const Host& host, ProfilingEvents* events);

 private:
  struct Event {
    runtime::StepProfile step;
    std::int64_t start_us;
    std::int32_t thread;
  };
  std::atomic<bool> on_{false};
  std::mutex mutex_;
  Clock::time_point origin_;  ///< when the runtime's trace began
  std::vector<Event> events_;
};

/// What ONNX Runtime drives a trace through; it releases it.
EpProfiler* make_profiler(const Host& host, std::shared_ptr<Trace> trace);

}  // namespace axrun::ort
