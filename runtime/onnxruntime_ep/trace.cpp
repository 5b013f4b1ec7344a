#include "runtime/onnxruntime_ep/trace.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

#include "runtime/onnxruntime_ep/host_value.h"

namespace axrun::ort {
namespace {

class Profiler final : public EpProfiler {
 public:
  Profiler(const Host& host, std::shared_ptr<Trace> trace) : host_(host), trace_(std::move(trace)) {
    release = [](EpProfiler* self) { delete static_cast<Profiler*>(self); };
    start_profiling = [](EpProfiler* self, std::int64_t offset) {
      auto* const profiler = static_cast<Profiler*>(self);
      return guarded(profiler->host_, [&] { profiler->trace_->start(std::chrono::nanoseconds(offset)); });
    };
    start_event = [](EpProfiler*, std::uint64_t) -> Status* { return nullptr; };
    stop_event = [](EpProfiler*, std::uint64_t, const ProfilingEvent*) -> Status* { return nullptr; };
    end_profiling = [](EpProfiler* self, ProfilingEvents* events) {
      auto* const profiler = static_cast<Profiler*>(self);
      return guarded(profiler->host_, [&] { profiler->trace_->finish(profiler->host_, events); });
    };
  }

 private:
  const Host& host_;
  std::shared_ptr<Trace> trace_;
};

}  // namespace

void Trace::start(std::chrono::nanoseconds offset) {
  const std::lock_guard lock(mutex_);
  origin_ = Clock::now() - std::chrono::duration_cast<Clock::duration>(offset);
  events_.clear();
  on_.store(true, std::memory_order_relaxed);
}

void Trace::add(Clock::time_point begin, const std::vector<runtime::StepProfile>& steps) {
  const auto thread = static_cast<std::int32_t>(syscall(SYS_gettid));
  const std::lock_guard lock(mutex_);
  const double start = std::chrono::duration<double, std::micro>(begin - origin_).count();
  for (const runtime::StepProfile& step : steps) {
    if (events_.size() >= most_events) return;
    events_.push_back({step, static_cast<std::int64_t>(start + step.start_us), thread});
  }
}

void Trace::finish(const Host& host, ProfilingEvents* events) {
  on_.store(false, std::memory_order_relaxed);
  std::vector<Event> all;
  {
    const std::lock_guard lock(mutex_);
    all.swap(events_);
  }
  constexpr int of_kernels = 2;
  for (const Event& event : all) {
    const char* const keys[] = {"op_name", "kernel", "shape", "proof"};
    const char* const values[] = {event.step.op.c_str(), event.step.kernel.c_str(), event.step.shape.c_str(),
                                  event.step.proof.c_str()};
    ProfilingEvent* made = nullptr;
    host.call_ep(create_profiling_event, of_kernels, static_cast<std::int32_t>(getpid()), event.thread,
                 event.step.name.c_str(), event.start_us, static_cast<std::int64_t>(event.step.last_us), keys,
                 values, std::size(keys), &made);
    const ProfilingEvent* const one[] = {made};
    // The runtime copies what it is given.
    Status* status = host.get_ep(add_profiling_events, events, one, std::size_t{1});
    host.get_ep(release_profiling_event, made);
    host.check(add_profiling_events.name, status);
  }
}

EpProfiler* make_profiler(const Host& host, std::shared_ptr<Trace> trace) {
  return std::make_unique<Profiler>(host, std::move(trace)).release();
}

}  // namespace axrun::ort
